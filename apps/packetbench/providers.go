package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// notInThisVersion is the hint of the rows whose transport this version does
// not contain. They are listed so that conversations on them have a name.
const notInThisVersion = "This provider needs a part that this version of PacketBench does not contain yet. Choose another one."

// providers answers list_providers and get_provider_auth_status: it asks the
// secret and store actors and, for Ollama, the daemon.
type providers struct {
	node   gen.Node
	getenv func(string) string
	client *http.Client
	prices *llm.PriceTable
	// shelf says which SDKs are installed and sidecar how the Node child is. The
	// sidecar's rows are launchable in a service that has both.
	shelf   *shelf
	sidecar func() contract.SidecarStatus
	// engines says which ACP engines there are; nil means that no engine is
	// started, as in a test of something else.
	engines *engines
}

// List returns every row of the picker with its models and badge.
func (p *providers) List(ctx context.Context) ([]contract.ProviderRow, error) {
	known, err := p.ask(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]contract.ProviderRow, 0, len(contract.Rows))
	for _, row := range contract.Rows {
		if i := slices.IndexFunc(known.engines, func(e engineRow) bool { return e.row.ID == row.ID }); i >= 0 {
			rows = append(rows, known.engines[i].provider())
			known.engines = slices.Delete(known.engines, i, i+1)
			continue
		}
		badge, err := known.badge(row)
		if err != nil {
			return nil, err
		}
		models, authoritative := known.models(row, p.prices)
		var window uint64
		if len(models) > 0 {
			window = models[0].ContextWindow
		}
		rows = append(rows, contract.ProviderRow{
			Row: row.ID, Label: row.Label, Group: row.Group, Transport: row.Transport, Provider: row.Provider,
			Models: models, Badge: badge, Capabilities: contract.CapabilitiesOf(row, models, authoritative, window),
		})
	}
	for _, e := range known.engines {
		rows = append(rows, e.provider())
	}
	return rows, nil
}

// Badge returns the badge of one probe id; an unknown one is
// *llm.UnknownProbeError.
func (p *providers) Badge(ctx context.Context, probe contract.AuthProbe) (contract.Badge, error) {
	known, err := p.ask(ctx)
	if err != nil {
		return contract.Badge{}, err
	}
	for _, e := range known.engines {
		if e.row.Probe == probe {
			return e.badge, nil
		}
	}
	if p.engines != nil && contract.EngineOf(contract.ProviderID(probe)) != "" {
		return contract.Badge{}, &llm.UnknownProbeError{Probe: probe} // An engine that nobody has defined.
	}
	for _, row := range contract.Rows {
		if row.Probe == probe && row.Transport == contract.TransportInProcess {
			return known.badge(row)
		}
	}
	account := contract.KeyringAccount("")
	if row, err := contract.RowForProvider(contract.ProviderID(probe)); err == nil {
		account = row.Account
	}
	return llm.Badge(probe, llm.BadgeInput{Key: known.key(account), Now: time.Now()})
}

// facts is everything the badges depend on, asked once for all rows.
type facts struct {
	keys     []contract.KeyInfo
	problem  string
	settings llm.Settings
	ollama   []contract.Model
	down     error
	// hosted says that the service hosts a sidecar; status and stock are then
	// how that is and what it can load.
	hosted bool
	status contract.SidecarStatus
	stock  stock
	// engines are the ACP rows, the default one first.
	engines []engineRow
}

func (p *providers) ask(ctx context.Context) (*facts, error) {
	stored, err := p.stored()
	if err != nil {
		return nil, err
	}
	settings, err := resolve(stored.Providers, p.getenv)
	if err != nil {
		return nil, err
	}
	known := &facts{settings: settings}
	var wg sync.WaitGroup
	if p.engines != nil {
		wg.Go(func() { known.engines = p.engines.rows(ctx, readEngines(stored.App)) })
	}
	if known.down = settings.Refused(contract.ProviderOllama); known.down == nil {
		wg.Go(func() { known.ollama, known.down = llm.OllamaModels(ctx, p.client, settings.OllamaURL) })
	}
	if known.hosted = p.sidecar != nil && p.shelf != nil; known.hosted {
		known.status, known.stock = p.sidecar(), p.shelf.look(time.Now())
	}
	reply, err := p.node.CallWithTimeout(msg.Secret, msg.KeyStatus{}, 8)
	wg.Wait()
	if infos, ok := reply.([]contract.KeyInfo); err == nil && ok {
		known.keys = infos
	} else {
		known.problem = "The key store did not answer. Try again; if it stays so, restart PacketBench."
	}
	return known, nil
}

// settings are what turns are started with. A bad value costs its own provider,
// whose badge says so.
func (p *providers) settings() (llm.Settings, error) {
	stored, err := p.stored()
	if err != nil {
		return llm.Settings{}, err
	}
	return resolve(stored.Providers, p.getenv)
}

func (p *providers) stored() (msg.Settings, error) {
	reply, err := p.node.CallWithTimeout(msg.Store, msg.GetSettings{}, 5)
	stored, ok := reply.(msg.Settings)
	if err != nil || !ok {
		return msg.Settings{}, errors.New("the settings could not be read just now; try again")
	}
	return stored, nil
}

// resolve is llm.Resolve for the settings as they are stored; nil when nothing
// is. What is refused is asked of the result.
func resolve(stored []byte, getenv func(string) string) (llm.Settings, error) {
	var saved llm.Saved
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &saved); err != nil {
			return llm.Settings{}, fmt.Errorf("the provider settings could not be read: %w", err)
		}
	}
	settings, _ := llm.Resolve(saved, getenv)
	return settings, nil
}

// refusal is a row whose settings cannot be used.
type refusal struct {
	label string
	err   error
}

// refusals are the rows that no turn can be started on before a setting is
// mended, in the order of the picker.
func refusals(settings llm.Settings) (all []refusal) {
	for _, row := range contract.Rows {
		if err := settings.Refused(row.Provider); err != nil {
			all = append(all, refusal{row.Label, err})
		}
	}
	return all
}

func (k *facts) key(account contract.KeyringAccount) llm.KeyState {
	state := llm.KeyState{Problem: k.problem}
	if i := slices.IndexFunc(k.keys, func(info contract.KeyInfo) bool { return info.Account == account }); i >= 0 {
		state.Present, state.Source = k.keys[i].Present, k.keys[i].Source
	}
	return state
}

func (k *facts) badge(row contract.Row) (contract.Badge, error) {
	if row.Transport == contract.TransportSidecar && k.hosted {
		return k.sidecarBadge(row)
	}
	if row.Transport != contract.TransportInProcess {
		return contract.Badge{Status: contract.BadgeComingSoon, Hint: notInThisVersion}, nil
	}
	in := llm.BadgeInput{Key: k.key(row.Account), Refused: k.settings.Refused(row.Provider), Ollama: k.down, Now: time.Now()}
	switch row.Provider {
	case contract.ProviderCustom:
		in.BaseURL = k.settings.CustomURL
	case contract.ProviderOllama:
		in.BaseURL = k.settings.OllamaURL
	}
	return llm.RowBadge(row, in)
}

// models returns a row's list and whether it is the provider's own answer: an
// authoritative empty list is not replaced by the catalogue.
func (k *facts) models(row contract.Row, prices *llm.PriceTable) ([]contract.Model, bool) {
	if row.Provider == contract.ProviderOllama && k.down == nil {
		return k.ollama, true
	}
	return llm.Models(row.ID, llm.ModelSettings{Custom: k.settings.CustomModels, Prices: prices, At: time.Now()}), false
}

// userPrices reads the user's own price table; a bad one is reported and left
// out, so that it never keeps the service from starting.
func userPrices(paths config.Paths) (*llm.PriceTable, error) {
	f, err := os.Open(paths.Prices())
	if errors.Is(err, os.ErrNotExist) {
		return llm.NewPriceTable(nil), nil
	}
	if err != nil {
		return llm.NewPriceTable(nil), err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, llm.MaxPriceTableBytes+1)
	n := 0
	for n < len(data) {
		m, err := f.Read(data[n:])
		n += m
		if err != nil {
			break
		}
	}
	rows, err := llm.DecodePrices(data[:n])
	if err != nil {
		return llm.NewPriceTable(nil), err
	}
	return llm.NewPriceTable(rows), nil
}
