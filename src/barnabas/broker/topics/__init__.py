"""What changes topics, and the topics in which coordinators keep their state."""
