"""What a KafkaProducer leaves behind that is dropped: its core, and the thread that calls callbacks."""

from __future__ import annotations

import threading

from barnabas._kernel import RecordTeller
from barnabas.client.produce.producer import Producer


class ProducerRemains:
    """Knows the program's producer not, so that it can be collected. The thread begins at once."""

    def __init__(self, core: Producer, teller: RecordTeller, thread_name: str) -> None:
        self._core = core
        self._teller = teller
        self.thread = threading.Thread(target=teller.run, name=thread_name, daemon=True)
        self.thread.start()

    async def close_unattended(self) -> None:
        """Delivers what is left, and lets the thread end when it has told of it."""
        try:
            await self._core.close_unattended()
        finally:
            self._teller.end()

    def unfinished(self) -> int:
        return self._core.unfinished()

    def waits_for(self) -> str:
        return self._core.waits_for()
