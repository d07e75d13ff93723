package store

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// costs is one row of the ledger.
func costs(ts, source, session string, usd float64) string {
	return fmt.Sprintf(`{"ts":%q,"source":%q,"model":"m","agent_id":null,"session_id":%q,"input_tokens":1,"output_tokens":1,"cost_usd":%g}`, ts, source, session, usd)
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// Days and months are those of the person: a row of the evening in UTC belongs
// to the next day in Tokyo, and to the next month there.
func TestTally(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("tokyo", 9*3600)
	rows := []string{
		costs("2026-08-31T16:00:00Z", "api-claude", "c-1", 1),
		costs("2026-08-31T10:00:00Z", "api-claude", "c-1", 2),
		costs("2026-08-31T23:59:59+00:00", "api-openai", "c-2", 4),
		costs("2026-07-31T23:59:59Z", "aux", "", 8),
		`{"ts":"yesterday","source":"x","cost_usd":1}`, `{"source":"x","cost_usd":1}`, `{"ts":"2026-08-31T10:00:00Z","cost_usd":1}`,
		`{"ts":"2026-08-31T10:00:00Z","source":"x"}`, `{"ts":"2026-08-31T10:00:00Z","source":"x","cost_usd":-1}`, ``, `[]`,
	}
	for _, tc := range []struct {
		name                    string
		loc                     *time.Location
		day                     string
		daily, monthly, claude  float64
		month                   string
		sessionOne, unknownRows float64
	}{
		{"utc", time.UTC, "2026-08-31", 7, 7, 3, "2026-08", 3, 7},
		{"utc before", time.UTC, "2026-07-31", 8, 8, 0, "2026-07", 3, 7},
		{"tokyo", tokyo, "2026-09-01", 5, 5, 1, "2026-09", 3, 7},
		{"tokyo before", tokyo, "2026-08-01", 8, 10, 2, "2026-08", 3, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sum := newTally(tc.loc)
			for _, r := range rows {
				sum.add([]byte(r))
			}
			if !near(sum.days[tc.day], tc.daily) || !near(sum.months[tc.month], tc.monthly) ||
				!near(sum.sources[monthly{tc.month, "api-claude"}], tc.claude) || !near(sum.session["c-1"], tc.sessionOne) || sum.unknown != int(tc.unknownRows) {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// A ledger is read on from where it was, and anew when it is not the same file
// any more.
func TestLedger_Spend(t *testing.T) {
	t.Parallel()
	p := home(t)
	l := newLedger(p)
	day := func() float64 {
		t.Helper()
		sum, err := l.spend(time.UTC)
		must(t, err)
		return sum.days["2026-08-31"]
	}
	if got := day(); got != 0 {
		t.Fatalf("nothing is %g", got)
	}
	const ts = "2026-08-31T10:00:00Z"
	must(t, l.append([]byte(costs(ts, "api-claude", "c-1", 1))))
	must(t, l.append([]byte(costs(ts, "api-claude", "c-1", 2))))
	if got := day(); got != 3 {
		t.Fatalf("two rows are %g", got)
	}
	first := l.sums.tally
	must(t, l.append([]byte(costs(ts, "api-claude", "c-1", 4))))
	if got := day(); got != 7 || l.sums.tally != first {
		t.Fatalf("three rows are %g, read anew: %v", got, l.sums.tally != first)
	}
	// A person halves a price and adds a row: longer than before, another file.
	write(t, p.Ledger(), strings.Join([]string{
		costs(ts, "api-claude", "c-1", 1), costs(ts, "api-claude", "c-1", 2), costs(ts, "api-claude", "c-1", 2), costs(ts, "api-claude", "c-1", 2), "",
	}, "\n"))
	if got := day(); got != 7 || l.sums.tally == first {
		t.Fatalf("a corrected ledger is %g, read on: %v", got, l.sums.tally == first)
	}
	write(t, p.Ledger(), costs(ts, "api-claude", "c-1", 1)+"\n")
	if got := day(); got != 1 {
		t.Fatalf("a shorter ledger is %g", got)
	}
	must(t, os.Remove(p.Ledger()))
	if got := day(); got != 0 {
		t.Fatalf("no ledger is %g", got)
	}
	// A row that the check lets pass and that has no time is unknown spend.
	write(t, p.Ledger(), `{"source":"x","cost_usd":1}`+"\n")
	_, err := l.spend(time.UTC)
	aSentence(t, err)
	write(t, p.Ledger(), "{")
	_, err = l.spend(time.UTC)
	aSentence(t, err)
}

func settingsOf(t testing.TB, text string) fields {
	t.Helper()
	var f fields
	must(t, json.Unmarshal([]byte(text), &f))
	return f
}

func TestCaps_Read(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, app string
		any       bool
		want      string // daily monthly session providers warn hard approve
	}{
		{"nothing", `{}`, false, "0 0 0 map[] 80 100 true"},
		{"nulls", `{"dailyLimitUsd":null,"providerLimitsUsd":{}}`, false, "0 0 0 map[] 80 100 true"},
		{
			"all", `{"dailyLimitUsd":1.239,"monthlyLimitUsd":20,"sessionLimitUsd":3,"providerLimitsUsd":{"api-claude":4,"x":-1},"warningThresholdPercent":50,"hardStopThresholdPercent":90,"requireApprovalAtLimit":false}`,
			true, "1.24 20 3 map[api-claude:4] 50 90 false",
		},
		{"hard below warn", `{"sessionLimitUsd":1,"warningThresholdPercent":90,"hardStopThresholdPercent":10}`, true, "0 0 1 map[] 90 90 true"},
		{"over 100", `{"dailyLimitUsd":1,"warningThresholdPercent":200,"hardStopThresholdPercent":300}`, true, "1 0 0 map[] 100 100 true"},
		{"not positive", `{"dailyLimitUsd":-1,"monthlyLimitUsd":0.004}`, false, "0 0 0 map[] 80 100 true"},
		{"old names", `{"dailyBudgetUsd":2,"warningPercent":70,"enabled":true}`, true, "2 0 0 map[] 70 100 true"},
		{"old names off", `{"dailyBudgetUsd":2,"enabled":false}`, false, "0 0 0 map[] 80 100 true"},
		{"new before old", `{"dailyBudgetUsd":2,"dailyLimitUsd":3}`, true, "3 0 0 map[] 80 100 true"},
		{"damaged", `{"dailyLimitUsd":"x","monthlyLimitUsd":5}`, true, "0 5 0 map[] 80 100 true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := readCaps(settingsOf(t, tc.app))
			got := fmt.Sprint(c.daily, c.monthly, c.session, " ", c.providers, " ", c.warn, c.hard, c.approve)
			if got != tc.want || c.any() != tc.any {
				t.Errorf("got %s, any %v; want %s", got, c.any(), tc.want)
			}
		})
	}
}

func TestCaps_Level(t *testing.T) {
	t.Parallel()
	soon, past := at.Add(time.Hour).UnixMilli(), at.Add(-time.Hour).UnixMilli()
	base := caps{warn: 80, hard: 100, approve: true}
	for _, tc := range []struct {
		name         string
		limit, spend float64
		edit         func(*caps)
		want         level
	}{
		{"off", 0, 1e6, nil, levelOff},
		{"ok", 10, 7.99, nil, levelOK},
		{"warning", 10, 8, nil, levelWarning},
		{"below the stop", 10, 9.99, nil, levelWarning},
		{"at the stop", 10, 10, nil, levelBlocked},
		{"sums of tenths", 0.3, 0.1 + 0.1 + 0.1, nil, levelBlocked},
		{"sums of tenths below", 0.3, 0.7 - 0.4, nil, levelBlocked},
		{"earlier stop", 10, 9, func(c *caps) { c.hard = 90 }, levelBlocked},
		{"overridden", 10, 11, func(c *caps) { c.until = map[string]int64{"k": soon} }, levelWarning},
		{"overridden by the second key", 10, 11, func(c *caps) { c.until = map[string]int64{"k2": soon} }, levelWarning},
		{"override over", 10, 11, func(c *caps) { c.until = map[string]int64{"k": past} }, levelBlocked},
		{"override of another", 10, 11, func(c *caps) { c.until = map[string]int64{"daily": soon} }, levelBlocked},
		{"warns only", 10, 11, func(c *caps) { c.approve = false }, levelWarning},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := base
			if tc.edit != nil {
				tc.edit(&c)
			}
			if got := c.level(tc.limit, tc.spend, at, "k", "k2"); got != tc.want {
				t.Errorf("%g of %g is %d, want %d", tc.spend, tc.limit, got, tc.want)
			}
		})
	}
}

// Every scope refuses with its name, the spend, the limit and an earlier hard
// stop; the first in order is named.
func TestLedger_CheckLaunch(t *testing.T) {
	t.Parallel()
	p := home(t)
	const ts = "2026-08-31T10:00:00Z"
	write(t, p.Ledger(), costs("2026-08-01T10:00:00Z", "api-claude", "c-1", 3)+"\n"+costs(ts, "api-claude", "c-1", 1)+"\n"+costs(ts, "aux", "", 0.5)+"\n")
	for _, tc := range []struct {
		name, app string
		check     msg.LaunchCheck
		refused   string
		warned    string
	}{
		{
			"within", `{"dailyLimitUsd":2,"monthlyLimitUsd":10,"sessionLimitUsd":10,"providerLimitsUsd":{"api-claude":10}}`,
			msg.LaunchCheck{Sources: []contract.LedgerSource{"api-claude"}, Session: "c-1"},
			"", "",
		},
		{
			"daily", `{"dailyLimitUsd":1.5}`,
			msg.LaunchCheck{Session: "c-9"},
			"The daily cost limit is reached: 1.50 USD of 1.50 USD are spent. Raise", "",
		},
		{
			"monthly, earlier stop", `{"monthlyLimitUsd":5,"hardStopThresholdPercent":90}`,
			msg.LaunchCheck{},
			"The monthly cost limit is reached: 4.50 USD of 5.00 USD are spent, and the hard stop is at 90 %. Raise", "",
		},
		{
			"provider", `{"providerLimitsUsd":{"api-claude":4}}`,
			msg.LaunchCheck{Sources: []contract.LedgerSource{"aux", "api-claude"}},
			"The monthly cost limit of api-claude is reached: 4.00 USD of 4.00 USD are spent.", "",
		},
		{"another provider", `{"providerLimitsUsd":{"api-claude":4}}`, msg.LaunchCheck{Sources: []contract.LedgerSource{"api-openai"}}, "", ""},
		{
			"session", `{"sessionLimitUsd":4}`,
			msg.LaunchCheck{Session: "c-1"},
			"The cost limit of one conversation is reached: 4.00 USD of 4.00 USD are spent.", "",
		},
		{"another session", `{"sessionLimitUsd":4}`, msg.LaunchCheck{Session: "c-2"}, "", ""},
		{"no session", `{"sessionLimitUsd":4}`, msg.LaunchCheck{}, "", ""},
		{"warning", `{"monthlyLimitUsd":5}`, msg.LaunchCheck{}, "", "monthly"},
		{"two warnings", `{"monthlyLimitUsd":5,"sessionLimitUsd":4.5}`, msg.LaunchCheck{Session: "c-1"}, "", "monthly session:c-1"},
		{"overridden", fmt.Sprintf(`{"dailyLimitUsd":1,"overrideUntilByKey":{"daily":%d}}`, at.Add(time.Hour).UnixMilli()), msg.LaunchCheck{}, "", "daily"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(p)
			v := l.checkLaunch(readCaps(settingsOf(t, tc.app)), tc.check, at)
			if tc.refused == "" {
				must(t, v.Err)
			} else {
				aSentence(t, v.Err)
				if !strings.HasPrefix(v.Err.Error(), tc.refused) {
					t.Errorf("refused with %q", v.Err)
				}
			}
			var keys []string
			for _, w := range v.Warnings {
				keys = append(keys, w.Key)
				if strings.Contains(w.Text, "USD") || !strings.Contains(w.Text, " 80 % or more.") && !strings.Contains(w.Text, " 100 % or more.") {
					t.Errorf("warned with %q", w.Text)
				}
			}
			if got := strings.Join(keys, " "); got != tc.warned {
				t.Errorf("warned of %q, want %q", got, tc.warned)
			}
		})
	}
}

// TestStore_Guard: a limit warns once a day, refuses, is lifted by an override,
// and without a limit the ledger is not looked at.
func TestStore_Guard(t *testing.T) {
	p := config.Paths{Home: t.TempDir()}
	write(t, p.Ledger(), "damaged\n")
	r := start(t, Options{Paths: p})
	check := msg.LaunchCheck{Sources: []contract.LedgerSource{"api-claude"}, Session: "c-1"}
	if v := ask[msg.LaunchVerdict](r, check); v.Err != nil || len(v.Warnings) > 0 {
		t.Fatalf("without a limit: %+v", v)
	}
	set := func(patch string) {
		t.Helper()
		if s := ask[msg.Settings](r, msg.PatchSettings{Patch: json.RawMessage(patch)}); s.Failure != nil {
			t.Fatal(s.Failure)
		}
	}
	set(`{"dailyLimitUsd":10}`)
	aSentence(t, ask[msg.LaunchVerdict](r, check).Err) // It cannot be accounted for.
	write(t, p.Ledger(), "")
	if v := ask[msg.LaunchVerdict](r, check); v.Err != nil || len(v.Warnings) > 0 {
		t.Fatalf("nothing spent: %+v", v)
	}
	spendOn := func(n uint64, usd float64) msg.LedgerWritten {
		t.Helper()
		r.send(msg.AppendLedger{Turn: "t-1", N: n, Line: []byte(costs("2026-08-31T11:00:00Z", "api-claude", "c-1", usd))})
		w := next[msg.LedgerWritten](r)
		must(t, w.Err)
		return w
	}
	if w := spendOn(1, 7.5); len(w.Warnings) != 0 {
		t.Fatalf("below the warning: %+v", w)
	}
	if w := spendOn(2, 1); len(w.Warnings) != 1 || w.Warnings[0].Key != "daily" {
		t.Fatalf("at the warning: %+v", w)
	}
	if w := spendOn(3, 0.5); len(w.Warnings) != 0 {
		t.Fatalf("warned twice a day: %+v", w)
	}
	if v := ask[msg.LaunchVerdict](r, check); v.Err != nil || len(v.Warnings) != 0 {
		t.Fatalf("a launch after the warning: %+v", v)
	}
	spendOn(4, 1)
	aSentence(t, ask[msg.LaunchVerdict](r, check).Err)
	set(fmt.Sprintf(`{"overrideUntilByKey":{"daily":%d}}`, at.Add(time.Hour).UnixMilli()))
	must(t, ask[msg.LaunchVerdict](r, check).Err)

	// A launch is told until somebody says that it was shown.
	set(`{"sessionLimitUsd":12}`)
	for range 2 {
		if v := ask[msg.LaunchVerdict](r, check); len(v.Warnings) != 1 || v.Warnings[0].Key != "session:c-1" {
			t.Fatalf("a second limit: %+v", v)
		}
	}
	r.send(msg.BudgetWarned{Keys: []string{"session:c-1"}})
	deadline := time.Now().Add(10 * time.Second)
	for len(ask[msg.LaunchVerdict](r, check).Warnings) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("warned after it was told")
		}
	}
}

func TestWarned_OncePerDay(t *testing.T) {
	t.Parallel()
	w := warnedOf{}
	list := []msg.BudgetWarning{{Key: "daily"}, {Key: "monthly"}}
	w.told(at, "daily")
	if got := w.untold(list, at); len(got) != 1 || got[0].Key != "monthly" {
		t.Errorf("today %v", got)
	}
	tomorrow := at.Add(24 * time.Hour)
	if got := w.untold(list, tomorrow); len(got) != 2 {
		t.Errorf("tomorrow %v", got)
	}
	w.told(tomorrow, "monthly")
	if len(w) != 1 {
		t.Errorf("kept %v", w)
	}
}

func FuzzSpent(f *testing.F) {
	f.Add([]byte(costs("2026-08-31T10:00:00Z", "aux", "c-1", 0.25)))
	f.Add([]byte(`{"ts":"2026-08-31T10:00:00Z","source":"x","cost_usd":1e999}`))
	f.Add([]byte(`{"ts":"0000-01-01T00:00:00+23:59","source":"x","cost_usd":0}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		sum := newTally(time.UTC)
		sum.add(line)
		r, ok := readSpent(line)
		if ok != (sum.unknown == 0) || ok && (r.usd < 0 || math.IsNaN(r.usd) || math.IsInf(r.usd, 0) || r.source == "" || len(sum.days) != 1) {
			t.Fatalf("%q is %+v, %v: %+v", line, r, ok, sum)
		}
	})
}

func FuzzCaps(f *testing.F) {
	f.Add([]byte(`{"dailyLimitUsd":1,"providerLimitsUsd":{"a":2},"overrideUntilByKey":{"daily":1}}`))
	f.Add([]byte(`{"dailyLimitUsd":1e308,"warningPercent":-1,"hardStopThresholdPercent":1e9,"enabled":0}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		app, ok := object(b)
		if !ok {
			return
		}
		c := readCaps(app)
		if c.warn < 0 || c.hard < c.warn || c.hard > 100 || c.daily < 0 || math.IsNaN(c.daily) {
			t.Fatalf("%q is %+v", b, c)
		}
		for _, usd := range c.providers {
			if usd <= 0 {
				t.Fatalf("%q is %+v", b, c)
			}
		}
	})
}

func BenchmarkLedger_Spend(b *testing.B) {
	p := home(b)
	var text strings.Builder
	for i := range 100_000 {
		text.WriteString(costs("2026-08-31T10:00:00Z", "api-claude", fmt.Sprint("c-", i%1000), 0.01) + "\n")
	}
	write(b, p.Ledger(), text.String())
	l := newLedger(p)
	must(b, l.health())
	for b.Loop() {
		l.sums = sums{}
		if _, err := l.spend(time.UTC); err != nil {
			b.Fatal(err)
		}
	}
}
