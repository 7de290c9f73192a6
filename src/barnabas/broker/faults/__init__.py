"""Faults on demand: a broker, or a proxy before one, that errs, waits and hangs up as it is told.

`rules` (what may be told), `rule_book` (which of it meets a request) and `answers` (what an error looks
like in each API's answer) are pure; `injector` carries out what they say.
"""
