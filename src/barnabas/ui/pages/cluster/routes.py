"""All pages of the cluster."""

from __future__ import annotations

from barnabas.ui.pages.cluster import acls, brokers, metadata, quotas, reassignments, transactions, users

routes = [
    *brokers.routes,
    *metadata.routes,
    *users.routes,
    *quotas.routes,
    *acls.routes,
    *transactions.routes,
    *reassignments.routes,
]
