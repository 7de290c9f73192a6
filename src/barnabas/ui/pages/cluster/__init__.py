"""The cluster's own pages: brokers, folders, quorum, features, users, quotas, rules, transactions, moves."""
