"""Who operates onsale: keys with a role and a scope, and the console's sessions.

Of a key's secret and of a session's cookie only digests are here: whoever reads the database can use none.
A key never changes its name, role or scope: who needs another gets another.
"""
