"""The classes of confluent_kafka.admin are as the real ones: what they take, refuse, compare and print."""

from __future__ import annotations

import confluent_kafka as real
import pytest
from confluent_kafka import admin as real_admin
from tests.compat import admin_class_scripts
from tests.compat.facade_script import Behaviour, FacadeScript, behaviours_of, normalised

from barnabas.compat import confluent_kafka as ours
from barnabas.compat.confluent_kafka import admin as our_admin


@pytest.mark.parametrize("behaviour", behaviours_of(admin_class_scripts))
def test_a_class_behaves_as_the_real_one(behaviour: Behaviour) -> None:
    notes: list[list[str]] = []
    for package, admin in ((real, real_admin), (ours, our_admin)):
        with FacadeScript(package, admin) as run:
            behaviour(run)
        notes.append(normalised(run.lines))
    assert notes[1] == notes[0]
