"""Who may do what: access control lists, and what Kafka's StandardAuthorizer makes of them."""
