"""What kafka-python 3 has below its clients."""
