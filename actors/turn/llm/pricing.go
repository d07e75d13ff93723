package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// PriceStatus says what a cost of 0 means.
type PriceStatus string

// The three answers of a price look-up. Source: runtime.md 6.
const (
	// PricePriced is a model with at least one rate above 0.
	PricePriced PriceStatus = "priced"
	// PriceFree is a model that is known to cost nothing.
	PriceFree PriceStatus = "free"
	// PriceUnknown is a model without a price; its cost is 0 and a budget has
	// to say that it does not see it.
	PriceUnknown PriceStatus = "unknown"
)

// MaxPriceTableBytes bounds a user's prices.json. A row takes about 300 bytes,
// so this is some thousands of rows.
const MaxPriceTableBytes = 1 << 20

// maxRate is the highest rate we believe, in USD per million tokens: one
// dollar per token. It keeps every cost finite, as the ledger refuses one that
// is not.
const maxRate = 1_000_000

// Rates are prices in USD per million tokens.
type Rates struct {
	Input        float64
	Output       float64
	CacheRead    float64
	CacheWrite5m float64
	CacheWrite1h float64
}

// free reports whether nothing costs anything.
func (r Rates) free() bool { return r == Rates{} }

// TokenCounts are the vendor's raw counts of one request, in tokens. Whether
// Input contains CacheRead depends on the wire; Cost takes care of it.
type TokenCounts struct {
	Input        uint64
	Output       uint64
	CacheRead    uint64
	CacheWrite5m uint64
	CacheWrite1h uint64
}

// PriceRow is one row of a price table. It is made by DecodePrices only, which
// checks it.
type PriceRow struct {
	ID     string
	Label  string
	Vendor string
	// Providers limits the row to these provider ids; empty means all. A row
	// also applies where the provider is not known (old ledger lines).
	Providers []contract.ProviderID
	// InputIncludesCacheRead overrides what the wire says; nil leaves it to
	// the wire.
	InputIncludesCacheRead *bool
	// Equals, Prefix and Contains are lower-case; any hit is a match.
	Equals, Prefix, Contains []string
	// Schedule covers every date; rates without dates are a schedule of one.
	Schedule []DatedRates
}

// DatedRates are rates between two dates, both inclusive, in UTC. An empty
// From or Until is open; both are YYYY-MM-DD otherwise, which sorts as text.
type DatedRates struct {
	From, Until string
	Rates       Rates
}

// matches reports whether the row applies to a provider and any candidate id.
func (r *PriceRow) matches(provider contract.ProviderID, candidates []string) bool {
	if len(r.Providers) > 0 && provider != "" && !slices.Contains(r.Providers, provider) {
		return false
	}
	for _, id := range candidates {
		if slices.Contains(r.Equals, id) ||
			slices.ContainsFunc(r.Prefix, func(p string) bool { return strings.HasPrefix(id, p) }) ||
			slices.ContainsFunc(r.Contains, func(c string) bool { return strings.Contains(id, c) }) {
			return true
		}
	}
	return false
}

// at returns the rates of a date; the first ones if the schedule has none,
// which a checked schedule cannot have.
func (r *PriceRow) at(when time.Time) Rates {
	day := when.UTC().Format(time.DateOnly)
	for _, d := range r.Schedule {
		if (d.From == "" || d.From <= day) && (d.Until == "" || day <= d.Until) {
			return d.Rates
		}
	}
	return r.Schedule[0].Rates
}

// PriceTable answers what a model costs: the user's rows first, then ours,
// then the catalogue. A nil table has no user rows. It is never written after
// NewPriceTable, so any number of goroutines may ask it at once.
type PriceTable struct{ user []PriceRow }

// NewPriceTable returns a table with the user's rows in front of ours.
func NewPriceTable(user []PriceRow) *PriceTable {
	return &PriceTable{user: slices.Clone(user)}
}

// ownPrices decodes our own table once. A test holds it to the rules of a
// user's table, so the error is for that test only.
var ownPrices = sync.OnceValues(func() ([]PriceRow, error) { return DecodePrices(config.Prices()) })

// find returns the rates of a model and, if a row said so, whether its input
// count includes cache reads.
func (t *PriceTable) find(provider contract.ProviderID, model string, at time.Time) (rates Rates, included *bool, known bool) {
	candidates := Candidates(model)
	if candidates == nil {
		return Rates{}, nil, false
	}
	own, _ := ownPrices()
	tables := [][]PriceRow{nil, own}
	if t != nil {
		tables[0] = t.user
	}
	for _, rows := range tables {
		for i := range rows {
			if rows[i].matches(provider, candidates) {
				return rows[i].at(at), rows[i].InputIncludesCacheRead, true
			}
		}
	}
	// Ollama runs what a person has pulled, under any name, and the demo calls
	// nobody: no vendor's list has their price, and it is nothing.
	if provider == contract.ProviderOllama || provider == contract.ProviderDemo {
		return Rates{}, nil, true
	}
	if found, ok := lookUp(provider, model); ok && found.priced {
		return found.rates, nil, true
	}
	return Rates{}, nil, false
}

// Rates returns the rates of a model of a provider at a date. They are zero
// when the status is PriceFree or PriceUnknown.
func (t *PriceTable) Rates(provider contract.ProviderID, model string, at time.Time) (Rates, PriceStatus) {
	rates, _, known := t.find(provider, model, at)
	return rates, statusOf(rates, known)
}

// statusOf names what a look-up found.
func statusOf(rates Rates, known bool) PriceStatus {
	switch {
	case !known:
		return PriceUnknown
	case rates.free():
		return PriceFree
	}
	return PricePriced
}

// Cost returns what one request cost in USD, priced at the date of its turn.
//
// The sum runs over disjoint buckets, so cache reads are taken out of an input
// count that includes them, down to 0 at least. A row that says whether it
// includes them is believed, then the wire of the provider. An unknown model
// costs 0 with PriceUnknown; the result is never negative, infinite or NaN.
func Cost(table *PriceTable, provider contract.ProviderID, model string, counts TokenCounts, at time.Time) (usd float64, status PriceStatus) {
	rates, included, known := table.find(provider, model, at)
	status = statusOf(rates, known)
	if status != PricePriced {
		return 0, status
	}
	input := counts.Input
	includes := inputIncludesCacheRead(provider)
	if included != nil {
		includes = *included
	}
	if includes {
		input -= min(input, counts.CacheRead)
	}
	sum := float64(input)*rates.Input +
		float64(counts.Output)*rates.Output +
		float64(counts.CacheRead)*rates.CacheRead +
		float64(counts.CacheWrite5m)*rates.CacheWrite5m +
		float64(counts.CacheWrite1h)*rates.CacheWrite1h
	return sum / 1e6, status
}

// inputIncludesCacheRead reports what the wire of a provider counts: Chat
// Completions and Responses put cached tokens inside the input count, Messages
// beside it. An engine has a wire of its own that we do not see; nothing is
// taken out of its input. Source: runtime.md 6.
func inputIncludesCacheRead(provider contract.ProviderID) bool {
	switch provider {
	case contract.ProviderOpenAI, contract.ProviderAgents,
		contract.ProviderMiniMax, contract.ProviderMiniMaxAPI,
		contract.ProviderOpenRouter, contract.ProviderOllama,
		contract.ProviderCustom, contract.ProviderDemo:
		return true
	}
	return false
}

// routePrefixes are the prefixes that name a way to a model rather than the
// model. meta-llama/ is not one of them: behind it the name would look like a
// model that runs on this machine and costs nothing. Source: runtime.md 6.
var routePrefixes = []string{"anthropic/", "openai/", "google/", "openrouter/", "ollama/", "ollama:", "local/"}

// maxRoutes bounds how many prefixes are taken off one id. Nobody stacks more
// than two, and an id is text from outside.
const maxRoutes = 4

// Candidates returns the ids that a model id may be listed under, most exact
// first: itself in lower case, then without its route prefixes, then each of
// those without a trailing date. Nil for a blank id.
func Candidates(model string) []string {
	id := strings.ToLower(strings.TrimSpace(model))
	if id == "" {
		return nil
	}
	candidates := []string{id}
	// A prefix may stand before another one (openrouter/anthropic/...), so the
	// list grows while it is walked.
	for i := 0; i < len(candidates) && i < maxRoutes; i++ {
		for _, prefix := range routePrefixes {
			if rest, ok := strings.CutPrefix(candidates[i], prefix); ok && rest != "" {
				candidates = append(candidates, rest)
			}
		}
	}
	for _, c := range slices.Clone(candidates) {
		if short := stripDate(c); short != c {
			candidates = append(candidates, short)
		}
	}
	return candidates
}

// PriceTableError says what is wrong with a prices.json, in words for the
// person who wrote it. Row counts from 1; 0 means the file as a whole. ID is
// the row's own, when it has one.
type PriceTableError struct {
	Row    int
	ID     string
	Reason string
}

// Error returns one plain sentence or two: what is wrong, what to do.
func (e *PriceTableError) Error() string {
	switch {
	case e.Row == 0:
		return "prices.json: " + e.Reason
	case e.ID == "":
		return fmt.Sprintf("prices.json, row %d: %s", e.Row, e.Reason)
	}
	return fmt.Sprintf("prices.json, row %d (%s): %s", e.Row, e.ID, e.Reason)
}

// wrong is the reason a row is refused; the caller adds which row it was.
func wrong(format string, args ...any) *PriceTableError {
	return &PriceTableError{Reason: fmt.Sprintf(format, args...)}
}

// The shapes of a price table on disk. Source: runtime.md 6; `providers` is
// ours. Pointers tell a rate that is absent from one that is 0.
type (
	priceRowFile struct {
		ID        string          `json:"id"`
		Label     string          `json:"label"`
		Vendor    string          `json:"vendor"`
		Providers []string        `json:"providers"`
		Included  *bool           `json:"inputIncludesCacheRead"`
		Match     priceMatchFile  `json:"match"`
		Rates     *priceRatesFile `json:"rates"`
		Schedule  []priceDateFile `json:"schedule"`
	}
	priceMatchFile struct {
		Equals   []string `json:"equals"`
		Prefix   []string `json:"prefix"`
		Contains []string `json:"contains"`
	}
	priceRatesFile struct {
		Input        *float64 `json:"input"`
		Output       *float64 `json:"output"`
		CacheRead    *float64 `json:"cacheRead"`
		CacheWrite5m *float64 `json:"cacheWrite5m"`
		CacheWrite1h *float64 `json:"cacheWrite1h"`
	}
	priceDateFile struct {
		From  string          `json:"from"`
		Until string          `json:"until"`
		Rates *priceRatesFile `json:"rates"`
	}
)

// DecodePrices reads a price table: a JSON array of rows.
//
// The whole table is refused with a *PriceTableError at the first thing that
// is wrong, a misspelt name included: half a price list would bill silently by
// the wrong half. Input and output rates are required; an absent cache read or
// 5-minute write costs as fresh input, an absent 1-hour write as the 5-minute
// one.
func DecodePrices(data []byte) ([]PriceRow, error) {
	if len(data) > MaxPriceTableBytes {
		return nil, &PriceTableError{Reason: fmt.Sprintf("the file is larger than %d bytes. Remove rows you do not use.", MaxPriceTableBytes)}
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, &PriceTableError{Reason: "it is not a JSON array of rows (" + plainJSON(err) + "). Correct it, or remove the file to use the built-in prices."}
	}
	rows := make([]PriceRow, 0, len(raw))
	firstRow := map[string]int{}
	for i, text := range raw {
		n := i + 1
		row, refused := decodePriceRow(text)
		if refused != nil {
			refused.Row, refused.ID = n, row.ID
			return nil, refused
		}
		if first, taken := firstRow[row.ID]; taken {
			return nil, &PriceTableError{Row: n, ID: row.ID, Reason: fmt.Sprintf("row %d has the same id. Give each row an id of its own.", first)}
		}
		firstRow[row.ID] = n
		rows = append(rows, row)
	}
	return rows, nil
}

// decodePriceRow reads and checks one row. On an error the row holds its id
// if that was readable.
func decodePriceRow(text []byte) (PriceRow, *PriceTableError) {
	var file priceRowFile
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return PriceRow{ID: file.ID}, wrong("%s. Correct the row.", plainJSON(err))
	}
	row := PriceRow{
		ID: strings.TrimSpace(file.ID), Label: file.Label, Vendor: file.Vendor,
		InputIncludesCacheRead: file.Included,
	}
	if row.ID == "" {
		return row, wrong("id is missing. Give the row a short name.")
	}
	for _, p := range file.Providers {
		id := contract.ProviderID(p)
		if _, err := contract.ProviderTransport(id); err != nil {
			return row, wrong("providers has %q, which is no provider id. Use ids such as anthropic, openai or ollama.", p)
		}
		row.Providers = append(row.Providers, id)
	}
	var err *PriceTableError
	if row.Equals, err = matchList("match.equals", file.Match.Equals); err != nil {
		return row, err
	}
	if row.Prefix, err = matchList("match.prefix", file.Match.Prefix); err != nil {
		return row, err
	}
	if row.Contains, err = matchList("match.contains", file.Match.Contains); err != nil {
		return row, err
	}
	if len(row.Equals)+len(row.Prefix)+len(row.Contains) == 0 {
		return row, wrong("match names no model. Fill equals, prefix or contains.")
	}
	switch {
	case file.Rates != nil && file.Schedule != nil:
		return row, wrong("it has both rates and schedule. Keep one of them.")
	case file.Rates != nil:
		rates, err := checkRates("rates", file.Rates)
		if err != nil {
			return row, err
		}
		row.Schedule = []DatedRates{{Rates: rates}}
	case len(file.Schedule) > 0:
		if row.Schedule, err = checkSchedule(file.Schedule); err != nil {
			return row, err
		}
	default:
		return row, wrong("it has neither rates nor schedule. Add rates with input and output in USD per million tokens.")
	}
	return row, nil
}

// matchList lowers and trims the entries of one match list. A blank entry
// would match every model as a prefix, so it is refused.
func matchList(field string, entries []string) ([]string, *PriceTableError) {
	var lowered []string
	for _, entry := range entries {
		id := strings.ToLower(strings.TrimSpace(entry))
		if id == "" {
			return nil, wrong("%s has an empty entry. Remove it or name a model.", field)
		}
		lowered = append(lowered, id)
	}
	return lowered, nil
}

// checkRates fills in the absent cache rates and refuses what is no price.
func checkRates(field string, file *priceRatesFile) (Rates, *PriceTableError) {
	for _, r := range []struct {
		name     string
		value    *float64
		required bool
	}{
		{"input", file.Input, true},
		{"output", file.Output, true},
		{"cacheRead", file.CacheRead, false},
		{"cacheWrite5m", file.CacheWrite5m, false},
		{"cacheWrite1h", file.CacheWrite1h, false},
	} {
		name := field + "." + r.name
		switch {
		case r.value == nil && r.required:
			return Rates{}, wrong("%s is missing. Write it in USD per million tokens.", name)
		case r.value != nil && *r.value < 0:
			return Rates{}, wrong("%s is negative. Write it in USD per million tokens, 0 or more.", name)
		case r.value != nil && *r.value > maxRate:
			return Rates{}, wrong("%s is above %d. Write it in USD per million tokens.", name, maxRate)
		}
	}
	rates := Rates{Input: *file.Input, Output: *file.Output}
	rates.CacheRead, rates.CacheWrite5m = rates.Input, rates.Input
	if file.CacheRead != nil {
		rates.CacheRead = *file.CacheRead
	}
	if file.CacheWrite5m != nil {
		rates.CacheWrite5m = *file.CacheWrite5m
	}
	rates.CacheWrite1h = rates.CacheWrite5m
	if file.CacheWrite1h != nil {
		rates.CacheWrite1h = *file.CacheWrite1h
	}
	return rates, nil
}

// checkSchedule checks each entry, then that no date is left without a rate.
// Entries may overlap; the first in array order wins.
func checkSchedule(file []priceDateFile) ([]DatedRates, *PriceTableError) {
	schedule := make([]DatedRates, 0, len(file))
	for i, entry := range file {
		field := fmt.Sprintf("schedule[%d]", i)
		for _, d := range []struct{ name, date string }{{"from", entry.From}, {"until", entry.Until}} {
			if _, err := time.Parse(time.DateOnly, d.date); d.date != "" && err != nil {
				return nil, wrong("%s.%s is %q, not a date. Write it as 2026-08-31.", field, d.name, d.date)
			}
		}
		if entry.From != "" && entry.Until != "" && entry.From > entry.Until {
			return nil, wrong("%s ends before it begins. Exchange from and until.", field)
		}
		if entry.Rates == nil {
			return nil, wrong("%s.rates is missing. Add input and output in USD per million tokens.", field)
		}
		rates, err := checkRates(field+".rates", entry.Rates)
		if err != nil {
			return nil, err
		}
		schedule = append(schedule, DatedRates{From: entry.From, Until: entry.Until, Rates: rates})
	}
	if day, ok := uncovered(schedule); ok {
		return nil, wrong("schedule has no rates %s. Leave the first from and the last until open and let the dates meet.", day)
	}
	return schedule, nil
}

// uncovered walks the schedule in date order and names the first stretch of
// days without rates.
func uncovered(schedule []DatedRates) (stretch string, found bool) {
	sorted := slices.Clone(schedule)
	slices.SortStableFunc(sorted, func(a, b DatedRates) int { return strings.Compare(a.From, b.From) })
	if sorted[0].From != "" {
		return "before " + sorted[0].From, true
	}
	covered := sorted[0].Until
	for _, d := range sorted[1:] {
		if covered == "" {
			break
		}
		if d.From > covered && d.From > dayAfter(covered) {
			return "on " + dayAfter(covered), true
		}
		if d.Until == "" || d.Until > covered {
			covered = d.Until
		}
	}
	if covered != "" {
		return "after " + covered, true
	}
	return "", false
}

// dayAfter returns the next day of a checked date.
func dayAfter(date string) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return day.AddDate(0, 0, 1).Format(time.DateOnly)
}

// plainJSON says what a JSON decoder stumbled over without Go's type names.
func plainJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the text ends too early"
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s cannot be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return "a " + kind.Value + " stands where something else belongs"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
