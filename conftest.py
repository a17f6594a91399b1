"""What holds for every test of the repository, the client's included."""

from hypothesis import settings

# A busy machine is no fault of the code: no property is judged by the clock.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
