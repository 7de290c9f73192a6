"""SASL mechanisms on the server's side: what a client's messages prove. No request of Kafka is known."""
