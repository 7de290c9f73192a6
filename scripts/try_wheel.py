"""Uses what is installed, as a first program would: nothing of the checkout, no extra. Fails loudly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import barnabas
from barnabas import Consumer, Producer
from barnabas.testing import EmbeddedBroker

RECORDS = 1000


def main() -> None:
    package = Path(barnabas.__file__).parent
    assert (package / "py.typed").exists(), "py.typed is missing: nobody's type checker sees the types"
    with EmbeddedBroker() as broker:
        with Producer(broker.bootstrap, compression="zstd") as producer:
            deliveries = [producer.send("first", b"%d" % number) for number in range(RECORDS)]
        offsets = [delivery.result().offset for delivery in deliveries]
        assert offsets == list(range(RECORDS)), offsets[:10]
        with Consumer(broker.bootstrap, auto_offset_reset="earliest", group_id="first") as consumer:
            consumer.subscribe(["first"])
            values: list[bytes | None] = []
            while len(values) < RECORDS:
                values += [record.value for record in consumer.poll(1.0)]
        assert values == [b"%d" % number for number in range(RECORDS)]
    for command in ([Path(sys.executable).with_name("barnabas")], [sys.executable, "-m", "barnabas"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, f"barnabas {barnabas.__version__}\n"), done
        # Otherwise the command line needs an extra, and says which.
        done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done
        assert "pip install 'barnabas[cli]'" in done.stderr, done.stderr


if __name__ == "__main__":
    main()
