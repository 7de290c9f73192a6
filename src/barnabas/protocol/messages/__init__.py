"""Generated classes of Kafka's messages: import the module of the API. Exports nothing itself."""
