"""Prompts arranged in a tree by their common beginnings, so that each beginning is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Tokens = Sequence[int]

WORTH = 24  # a shorter shared beginning is cheaper to compute again than to keep apart


@dataclass
class Node:
    """A shared beginning: tokens ``start:stop`` of ``prompts[member]``, what follows it, and who ends after it."""

    member: int
    start: int
    stop: int
    children: list[Node] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def size(self, prompts: Sequence[Tokens]) -> int:
        """Tokens in this node and below it."""
        own = self.stop - self.start + sum(len(prompts[i]) - self.stop for i in self.leaves)
        return own + sum(child.size(prompts) for child in self.children)


def tree(prompts: Sequence[Tokens], worth: int = WORTH) -> Node:
    """Arrange prompts by their common beginnings.

    Args:
        prompts: token ids, none empty.
        worth: fewest shared tokens that make a node of their own.

    Returns:
        The root, perhaps of no tokens. Every prompt is a leaf once, with at least one token of its own.

    >>> root = tree([[1, 2, 3, 4], [1, 2, 3, 5], [1, 9]], worth=2)
    >>> (root.start, root.stop, root.leaves), [(c.start, c.stop, c.leaves) for c in root.children]
    ((0, 1, [2]), [(1, 3, [0, 1])])
    """
    return _node(prompts, sorted(range(len(prompts)), key=lambda i: tuple(prompts[i])), 0, worth)


def _node(prompts: Sequence[Tokens], members: list[int], start: int, worth: int) -> Node:
    first, last = prompts[members[0]], prompts[members[-1]]
    most = min(len(prompts[i]) for i in members) - 1  # a leaf keeps one token, whose logits are wanted
    stop = common(first, last, start, most)
    # A prompt that ends with its next token comes before those that it begins, and leaves the others to go on.
    node = Node(members[0], start, stop, leaves=[i for i in members if len(prompts[i]) == stop + 1])
    members = [i for i in members if len(prompts[i]) > stop + 1]
    at = 0
    while at < len(members):
        end = at + 1
        while end < len(members) and prompts[members[end]][stop] == prompts[members[at]][stop]:
            end += 1
        if end - at == 1:
            node.leaves.append(members[at])
        else:
            child = _node(prompts, members[at:end], stop, worth)
            if child.stop - child.start >= worth:
                node.children.append(child)
            else:
                node.leaves += child.leaves
                for grandchild in child.children:
                    grandchild.start = stop
                    node.children.append(grandchild)
        at = end
    return node


def common(first: Tokens, last: Tokens, start: int, most: int) -> int:
    """Where the first and the last of sorted prompts part, at ``most`` at the latest: what they share, all share."""
    while start < most and first[start] == last[start]:
        start += 1
    return start
