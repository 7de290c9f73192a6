"""What of a program's source breaks or changes with another generation of kafka-python, and on Kafka 4.

Reads sources and runs nothing of them. What is known of the packages is in `rules/`, as tables, and in the
tables that the facade `kafka` is made from; `bindings` finds out what a name in a source stands for.
"""
