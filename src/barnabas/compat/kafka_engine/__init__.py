"""What programs for kafka-python see, whichever generation of it they were written for, over Barnabas's core.

`barnabas.compat.kafka` gives it the original's module names. Must not know librdkafka's facades.
"""
