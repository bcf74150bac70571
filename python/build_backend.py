"""meson-python, with the stable ABI of Python where nanobind has one.

meson-python takes `limited-api` from pyproject.toml for all versions of Python; nanobind has a stable ABI from 3.12 on.
Below, this backend switches it off, so that the wheel is one of that version.
"""
import sys
import sysconfig

import mesonpy
from mesonpy import *  # noqa: F401,F403  the hooks that need no change


def _settings(config_settings):
    settings = dict(config_settings or {})
    if sys.version_info < (3, 12) or sysconfig.get_config_var('Py_GIL_DISABLED'):
        given = settings.get('setup-args', [])
        given = [given] if isinstance(given, str) else list(given)
        settings['setup-args'] = [*given, '-Dpython.allow_limited_api=false']
    return settings


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return mesonpy.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return mesonpy.build_editable(wheel_directory, _settings(config_settings), metadata_directory)
