"""Checks of what users pass, with the complaints of the real package."""

from typing import Any

from barnabas.compat.confluent_kafka.cimpl import KafkaError

__all__ = ["ValidationUtil", "string_type"]

string_type = str


class ValidationUtil:
    """A namespace for the checks. Each raises TypeError or ValueError, or does nothing."""

    @staticmethod
    def check_multiple_not_none(obj: Any, vars_to_check: list[str]) -> None:
        """None of the attributes may be None."""
        for param in vars_to_check:
            ValidationUtil.check_not_none(obj, param)

    @staticmethod
    def check_not_none(obj: Any, param: str) -> None:
        """The attribute must not be None."""
        if getattr(obj, param) is None:
            raise ValueError(f"Expected {param} to be not None")

    @staticmethod
    def check_multiple_is_string(obj: Any, vars_to_check: list[str]) -> None:
        """Each of the attributes must be a string or None."""
        for param in vars_to_check:
            ValidationUtil.check_is_string(obj, param)

    @staticmethod
    def check_is_string(obj: Any, param: str) -> None:
        """The attribute must be a string or None."""
        if not isinstance(getattr(obj, param), str | None):
            raise TypeError(f"Expected {param} to be a string")

    @staticmethod
    def check_kafka_errors(errors: list[KafkaError]) -> None:
        """It must be a list of KafkaError."""
        checked: Any = errors
        if not isinstance(checked, list):
            raise TypeError("errors should be None or a list")
        if any(not isinstance(error, KafkaError) for error in errors):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("Expected list of KafkaError")

    @staticmethod
    def check_kafka_error(error: KafkaError) -> None:
        """It must be a KafkaError."""
        checked: Any = error
        if not isinstance(checked, KafkaError):
            raise TypeError("Expected error to be a KafkaError")
