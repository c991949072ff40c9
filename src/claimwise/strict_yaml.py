"""YAML as this project reads it: safely, and no key twice."""

import yaml
from yaml.constructor import ConstructorError


class Loader(yaml.SafeLoader):
    """YAML's safe loader takes the last of two equal keys: an entry pasted below would undo the whole of `models`.

    Whatever cannot be read is a ``yaml.YAMLError``.

    >>> yaml.load("{a: 1, a: 2}", Loader=Loader)
    Traceback (most recent call last):
    ...
    yaml.constructor.ConstructorError: key 'a' appears twice; keep one...
    """

    def get_single_data(self) -> object:
        """See ``yaml.Loader``."""
        try:
            return super().get_single_data()
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:  # 2001-99-99, [[[[...
            raise ConstructorError(None, None, f"a value cannot be read: {error}") from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """See ``yaml.constructor``; no key appears twice."""
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise ConstructorError(None, None, f"key {key.value!r} appears twice; keep one", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)
