"""What is asked of brokers in administration, and what their answers say of each item: pure functions for the
Admin and for those who stand in for others. How a request finds its broker, what is tried again, and what a
caller is told are theirs.
"""
