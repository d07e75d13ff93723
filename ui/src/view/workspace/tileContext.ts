// How the tiles of a workspace hand the keyboard to each other.

import { createContext, useContext, useEffect } from 'react'

/** What a tile can be asked for by a key. */
export interface TileHandle {
  focus?: (() => void) | undefined
  find?: (() => void) | undefined
}

export interface Tiles {
  /** Says what a tile can do; returns the disposer. */
  register: (pane: string, handle: TileHandle) => () => void
}

const Context = createContext<Tiles | undefined>(undefined)
export const TilesProvider = Context.Provider

/** Lets the keys of a workspace reach a tile. */
export function useTileKeys(pane: string, { focus, find }: TileHandle): void {
  const tiles = useContext(Context)
  useEffect(() => tiles?.register(pane, { focus, find }), [tiles, pane, focus, find])
}
