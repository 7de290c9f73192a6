"""What is known of the packages, as tables. What differs between generations of kafka-python and concerns its
facade as well is not here, but in `barnabas.compat.kafka_engine.generations`."""
