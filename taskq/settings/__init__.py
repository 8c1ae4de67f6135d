"""The settings of an app, and where they come from."""

from taskq.settings.configuration import Configuration, configuration, load, variable
from taskq.settings.values import (
    DEFAULT_URL,
    NAME,
    SettingError,
    SettingOverrides,
    Settings,
    bad_name,
    replaced,
)

__all__ = (
    "DEFAULT_URL",
    "NAME",
    "Configuration",
    "SettingError",
    "SettingOverrides",
    "Settings",
    "bad_name",
    "configuration",
    "load",
    "replaced",
    "variable",
)
