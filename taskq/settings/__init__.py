"""The settings of an app, and where they come from."""

from taskq.settings.configuration import (
    Configuration,
    Ignored,
    configuration,
    ignored,
    load,
    variable,
)
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
    "Ignored",
    "SettingError",
    "SettingOverrides",
    "Settings",
    "bad_name",
    "configuration",
    "ignored",
    "load",
    "replaced",
    "variable",
)
