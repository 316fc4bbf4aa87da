"""Backups of a database, checked when they are made, and what is needed to go on from one that is older than
what buyers were told.
"""
