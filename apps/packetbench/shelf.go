package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/apps/packetbench/install"
	"github.com/packetbench/packetbench/contract"
)

// shelfFresh is how long a look at the disk counts: a picker that opens asks
// for every row, and an installation shows soon enough.
const shelfFresh = time.Second

// stock is what the host would start and what that could load.
type stock struct {
	place sidecarPlace
	// oldest is the oldest Node that will do.
	oldest string
	found  []install.Found
}

// shelf looks at what is installed, at most once in shelfFresh. It starts
// nothing. Safe for concurrent use.
type shelf struct {
	manifest install.Manifest
	locate   func() sidecarPlace

	mu   sync.Mutex
	at   time.Time
	last stock
}

func newShelf(m install.Manifest, locate func() sidecarPlace) *shelf {
	return &shelf{manifest: m, locate: locate}
}

func (s *shelf) look(now time.Time) stock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || now.Sub(s.at) >= shelfFresh || now.Before(s.at) {
		s.at, s.last = now, takeStock(s.manifest, s.locate())
	}
	return s.last
}

func takeStock(m install.Manifest, place sidecarPlace) stock {
	return stock{place: place, oldest: m.Node, found: m.Look(place.Script)}
}

// mend is the sentence with the one command that makes a row of the sidecar
// launchable as far as what is on disk goes; "" when nothing is missing. What
// mends it depends on where the host looks.
func (s stock) mend(sdk install.SDK) string {
	switch {
	case s.place.Node == "":
		return install.NoNode(s.oldest)
	case !s.place.Found && s.place.From != fromDataDir:
		return (&sidecar.NoEntryError{Path: s.place.Script}).Error()
	}
	for _, f := range s.found {
		if f.SDK != sdk || s.place.Found && f.Complete() {
			continue
		}
		switch s.place.From {
		case fromCheckout:
			return fmt.Sprintf("The %s is not installed in the checkout. Run: make sidecar", sdk.Title())
		case fromOverride:
			return fmt.Sprintf("The %s is not installed beside %s. Run npm ci there, or unset %s", sdk.Title(), s.place.Script, sidecar.EnvScript)
		default:
			return sdk.Missing()
		}
	}
	return ""
}

// vendorOf is whose base URL a provider of the sidecar uses, since that is
// refused together with it.
var vendorOf = map[contract.ProviderID]contract.ProviderID{
	contract.ProviderClaudeOAuth: contract.ProviderAnthropic,
	contract.ProviderAgents:      contract.ProviderOpenAI,
}

// sidecarBadge is the badge of a row that the sidecar serves: ready only with
// its SDK where the host looks, a key, and a child that has not given up. While
// it has, the row is down whatever the cause; a sidecar that gave up because
// nothing is installed still hints at the command that mends that.
func (k *facts) sidecarBadge(row contract.Row) (contract.Badge, error) {
	in := llm.BadgeInput{Key: k.key(row.Account), Refused: k.settings.Refused(vendorOf[row.Provider]), Sidecar: llm.SidecarState{State: k.status.State}, Now: time.Now()}
	if k.status.LastError != nil {
		in.Sidecar.LastError = *k.status.LastError
	}
	sdk, _ := install.For(row.Provider)
	mend := k.stock.mend(sdk)
	switch {
	case mend == "", k.status.State == "incompatible", gaveUp(k.status.State) && k.stock.place.From != fromDataDir:
		return llm.RowBadge(row, in)
	case gaveUp(k.status.State):
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: mend}, nil
	}
	return contract.Badge{Status: contract.BadgeMissingKey, Hint: mend}, nil
}
