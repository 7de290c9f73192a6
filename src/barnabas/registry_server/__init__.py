"""A schema registry with Confluent's REST API. It keeps schemas in a journal: a compacted topic, or memory.

- `records.py` (pure): the records of the journal, byte for byte those of Confluent's `_schemas` topic.
- `journal/`: where records are kept, and who may write them.
- `state/` (pure): what records make, and what a registry knows.
- `deks/`: keys for encrypting fields.
- `node.py`, `settings.py`: one registry that runs by itself; `forwarding.py`: passing on to the one that
  writes; `access.py`: who may ask.

Must not know the client but in `journal/` and `node.py`.
"""
