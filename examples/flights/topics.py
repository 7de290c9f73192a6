"""stub"""
from dataclasses import dataclass
OWNER_HEADER = ("written-by", b"barnabas flights demo")
@dataclass(frozen=True, slots=True)
class Topics:
    prefix: str = ""
    @property
    def flights(self): return self.prefix+"flights"
    @property
    def weather(self): return self.prefix+"weather"
    @property
    def airlines(self): return self.prefix+"airlines"
    @property
    def delays(self): return self.prefix+"delays"
