"""`./run bench seating`: how people sit, by onsale and by two other ways of giving out best available seats.

The same plan and the same parties in the same order of arrival for all; who sat where is judged from
outside. See docs/seating.md.
"""
