// Of several conversations on one page only one hears the keys: the one in the
// tile that has the focus. A page with a single one is always active.

import { createContext, useContext } from 'react'

const Context = createContext(true)

export const ActivePaneProvider = Context.Provider

export const useActivePane = (): boolean => useContext(Context)
