// The keys of the tree on the ops page. Source: design 6.

export const treeKeys: readonly [string, string][] = [
  ['↑ ↓', 'Move'],
  ['← →', 'Fold and unfold'],
  ['Home End', 'To the first and the last row'],
  ['Enter', 'Details'],
  ['R', 'Reset what is down; it asks first'],
  ['Space', 'Freeze the tree, and go on'],
  ['#', 'Find an actor'],
  ['Esc', 'Close the details'],
]
