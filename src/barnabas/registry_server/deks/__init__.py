"""The registry of keys for encrypting fields: KEKs, which a KMS has, and DEKs, which those encrypt.

- `keys.py` (pure): both kinds of keys, and their records, as in Confluent's `_dek_registry_keys` topic.
- `state.py` (pure): what the records make.
- `changes.py` (pure): what is decided when keys are created, changed and deleted.
- `wrapping.py`: what only the KMS of a shared KEK can do.
- `service.py`: the state, its journal, one write at a time.
"""
