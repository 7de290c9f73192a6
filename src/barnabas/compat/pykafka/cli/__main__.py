"""`python -m pykafka.cli`."""

from barnabas.compat.pykafka.cli.kafka_tools import main

main()
