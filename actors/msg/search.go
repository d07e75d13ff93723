package msg

import "github.com/packetbench/packetbench/contract"

// Search is a Call to the store: conversations that hold a text, answered by
// contract.SearchResult within a second or so.
type Search struct{ Params contract.SearchParams }
