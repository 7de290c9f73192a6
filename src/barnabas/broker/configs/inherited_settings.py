"""Settings read by type, and those of a topic or a group, which fall back to the broker's.

Owns which value counts. Names and defaults are in the tables of whoever inherits.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.configs.setting_kinds import Setting, SettingSource, Value


class TypedSettings:
    def get(self, name: str) -> Value:
        raise NotImplementedError

    def number(self, name: str) -> int:
        return int(self.get(name).value)

    def text(self, name: str) -> str:
        return self.get(name).value

    def flag(self, name: str) -> bool:
        return self.get(name).value.lower() == "true"


class InheritedSettings(TypedSettings):
    """`own` counts first, then the broker's setting that `Setting.broker_name` names, then the default."""

    def __init__(
        self,
        own: Mapping[str, str],
        broker: TypedSettings,
        table: Mapping[str, Setting],
        source: SettingSource,
    ) -> None:
        self._own = own
        self._broker = broker
        self._table = table
        self._source = source

    def get(self, name: str) -> Value:
        setting = self._table[name]
        if name in self._own:
            return Value(setting, self._own[name], self._source)
        if not setting.broker_name:
            return Value(setting, setting.default, SettingSource.DEFAULT)
        value = self._broker.get(setting.broker_name)
        return Value(setting, value.value, value.source)
