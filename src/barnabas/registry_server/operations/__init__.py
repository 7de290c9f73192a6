"""What a registry does when it is asked: pure functions of its state. Those that change something give the
records that do, and what is answered when they are written.

Raise: ApiError.
"""
