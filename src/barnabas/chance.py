"""Numbers by chance, from a generator of Barnabas' own: a program that seeds `random` gets what it would get
without us."""

from __future__ import annotations

import os
import random

chance = random.Random()

# Otherwise a forked process would pause and choose as its parent does.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=chance.seed)
