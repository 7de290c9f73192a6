"""The page, `barnabas ui`: topics, records, groups and whatever else a cluster has, in a browser.

Stands on the clients for asyncio and renders on the server. Needs the extra `ui`. Must not know the command
line: `barnabas.ui.settings` is what it is told.
"""
