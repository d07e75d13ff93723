package store

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// caps are the cost limits that a person has set, in US dollars; 0 is none.
// Source: runtime.md 7.
type caps struct {
	daily, monthly, session float64
	// providers are limits of a calendar month by ledger source. The
	// specification names no period; a limit without one would end a provider
	// for good.
	providers map[string]float64
	// warn and hard are percents of a limit.
	warn, hard float64
	// approve says that a launch at the limit needs a person's override.
	// Without it a limit only warns.
	approve bool
	// until are the overrides: key to ms since 1970.
	until map[string]int64
}

// any reports whether there is a limit at all; flights, which have limits of
// their own, are not part of this version.
func (c caps) any() bool {
	return c.daily > 0 || c.monthly > 0 || c.session > 0 || len(c.providers) > 0
}

// readCaps reads the limits out of the app settings. A value that a person has
// damaged in the file counts as not set: set_settings refuses it.
func readCaps(app fields) caps {
	c := caps{warn: 80, hard: 100, approve: true, until: map[string]int64{}}
	value := func(into any, keys ...string) {
		for _, key := range keys {
			if raw, ok := app[key]; ok && json.Unmarshal(raw, into) == nil {
				return
			}
		}
	}
	enabled := true
	value(&enabled, "enabled")
	value(&c.daily, "dailyLimitUsd")
	if _, ok := app["dailyLimitUsd"]; !ok && enabled {
		// The name of settings that were taken over.
		value(&c.daily, "dailyBudgetUsd")
	}
	value(&c.monthly, "monthlyLimitUsd")
	value(&c.session, "sessionLimitUsd")
	value(&c.providers, "providerLimitsUsd")
	value(&c.warn, "warningThresholdPercent", "warningPercent")
	value(&c.hard, "hardStopThresholdPercent")
	value(&c.approve, "requireApprovalAtLimit")
	value(&c.until, "overrideUntilByKey")
	for _, usd := range []*float64{&c.daily, &c.monthly, &c.session} {
		*usd = cents(*usd)
	}
	for source, usd := range c.providers {
		if c.providers[source] = cents(usd); c.providers[source] == 0 {
			delete(c.providers, source)
		}
	}
	c.warn = min(max(c.warn, 0), 100)
	c.hard = min(max(c.hard, c.warn), 100)
	return c
}

// cents rounds a limit; one that is not positive is off.
func cents(usd float64) float64 { return max(0, math.Round(usd*100)/100) }

// level is how near a limit is.
type level int

const (
	levelOff level = iota
	levelOK
	levelWarning
	levelBlocked
)

// smallest is less than any price, in US dollars: sums of many rows are off by
// less.
const smallest = 1e-9

// level judges one limit. Keys are those whose override lifts it.
func (c caps) level(limit, spend float64, now time.Time, keys ...string) level {
	if limit <= 0 {
		return levelOff
	}
	if spend+smallest < limit*c.warn/100 {
		return levelOK
	}
	if spend+smallest < limit*c.hard/100 || !c.approve {
		return levelWarning
	}
	for _, key := range keys {
		if c.until[key] > now.UnixMilli() {
			return levelWarning
		}
	}
	return levelBlocked
}

// scope is one limit with what was spent under it.
type scope struct {
	key, name    string
	limit, spend float64
	level        level
}

// scopes lists the limits that hold for a session and sources, in the order in
// which they are checked.
func (c caps) scopes(t *tally, session contract.ConversationID, sources []contract.LedgerSource, now time.Time) []scope {
	at := now.In(t.loc)
	month := at.Format(monthForm)
	var out []scope
	add := func(name string, limit, spend float64, keys ...string) {
		if l := c.level(limit, spend, now, keys...); l != levelOff {
			out = append(out, scope{keys[0], name, limit, spend, l})
		}
	}
	add("The daily cost limit", c.daily, t.days[at.Format(dayForm)], "daily")
	add("The monthly cost limit", c.monthly, t.months[month], "monthly")
	for _, s := range sources {
		add("The monthly cost limit of "+string(s), c.providers[string(s)], t.sources[monthly{month, string(s)}], "provider:"+string(s))
	}
	if session != "" {
		add("The cost limit of one conversation", c.session, t.session[session], "session:"+string(session), "session")
	}
	return out
}

// refusal is the sentence for a launch that a limit stops.
func (c caps) refusal(s scope) error {
	stop := ""
	if c.hard < 100 {
		stop = fmt.Sprintf(", and the hard stop is at %g %%", c.hard)
	}
	return tell("%s is reached: %.2f USD of %.2f USD are spent%s. Raise the limit or override it for 24 hours in Settings > Budget guardrails, then start again.", s.name, s.spend, s.limit, stop)
}

// warning is the line for a conversation. It holds no amount: no window shows
// what was spent.
func (c caps) warning(s scope) msg.BudgetWarning {
	used := c.warn
	if s.spend+smallest >= s.limit*c.hard/100 {
		used = c.hard
	}
	after := fmt.Sprintf("At %g %% no new conversation starts; running ones go on.", c.hard)
	if !c.approve {
		after = "The limit only warns: approval at the limit is off."
	} else if s.level == levelBlocked {
		after = "No new conversation starts until the limit is raised or overridden; running ones go on."
	} else if used == c.hard {
		after = "It is overridden for now."
	}
	return msg.BudgetWarning{Key: s.key, Text: fmt.Sprintf("%s is used to %g %% or more. %s See Settings > Budget guardrails.", s.name, used, after)}
}

// near are the warnings of scopes at the warning or over it.
func (c caps) near(all []scope) []msg.BudgetWarning {
	var out []msg.BudgetWarning
	for _, s := range all {
		if s.level >= levelWarning {
			out = append(out, c.warning(s))
		}
	}
	return out
}

// checkLaunch answers one LaunchCheck. It belongs to the ledger's lane.
func (l *ledger) checkLaunch(c caps, m msg.LaunchCheck, now time.Time) msg.LaunchVerdict {
	t, err := l.spend(now.Location())
	if err != nil {
		return msg.LaunchVerdict{Err: err}
	}
	all := c.scopes(t, m.Session, m.Sources, now)
	for _, s := range all {
		if s.level == levelBlocked {
			return msg.LaunchVerdict{Err: c.refusal(s)}
		}
	}
	return msg.LaunchVerdict{Warnings: c.near(all)}
}

// brought are the warnings after a line was appended: of the limits that it
// counts against. One-shots have no conversation that could show one.
func (l *ledger) brought(c caps, line []byte, now time.Time) []msg.BudgetWarning {
	if !c.any() {
		return nil
	}
	r, ok := readSpent(line)
	if !ok || r.source == string(contract.LedgerAux) || r.usd == 0 {
		return nil
	}
	t, err := l.spend(now.Location())
	if err != nil {
		return nil // The next launch and the next request are told.
	}
	return c.near(c.scopes(t, r.session, []contract.LedgerSource{contract.LedgerSource(r.source)}, now))
}

// warnedOf remembers which limits were told of on which day, for the life of
// the service: after a restart the first launch tells once more.
type warnedOf map[string]string

// untold leaves out what was told today.
func (w warnedOf) untold(list []msg.BudgetWarning, now time.Time) []msg.BudgetWarning {
	var out []msg.BudgetWarning
	for _, b := range list {
		if w[b.Key] != now.Format(dayForm) {
			out = append(out, b)
		}
	}
	return out
}

// told takes keys as told today. Keys of earlier days are of no use any more.
func (w warnedOf) told(now time.Time, keys ...string) {
	today := now.Format(dayForm)
	for key, day := range w {
		if day != today {
			delete(w, key)
		}
	}
	for _, key := range keys {
		w[key] = today
	}
}

// checkLaunch asks the settings and, when there is a limit, the ledger.
func (a *actor) checkLaunch(m msg.LaunchCheck, answer func(any)) {
	a.do(laneSettings, func() func() {
		c := readCaps(a.settings.app)
		return func() {
			if !c.any() {
				answer(msg.LaunchVerdict{})
				return
			}
			now := a.opt.Now()
			a.do(laneLedger, func() func() {
				v := a.ledger.checkLaunch(c, m, now)
				return func() {
					v.Warnings = a.warned.untold(v.Warnings, now)
					answer(v)
				}
			})
		}
	})
}

// addUp reads the ledger before the first launch needs it: a long one takes a
// second for each 100,000 rows, once.
func (a *actor) addUp() {
	if !a.caps.any() {
		return
	}
	loc := a.opt.Now().Location()
	a.do(laneLedger, func() func() {
		_, _ = a.ledger.spend(loc) // A launch is told of the failure.
		return nil
	})
}
