package store

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Normalise checks one provider setting and returns it as it is to be kept. Its
// error is a sentence that begins small, for the end of "key: ".
type Normalise func(value string) (string, error)

// The keys of provider-settings.v1.json. Source: mcp-state.md 6.
const (
	keyNamed  = "named_provider_base_urls"
	keyCap    = "ollama_num_ctx_cap"
	keyModels = "custom_compat_models"
)

var providerTexts = []string{"ollama_base_url", "minimax_base_url", "ollama_keep_alive", "custom_compat_base_url"}

// namedProviders are the providers of keyNamed. Source: interface.md decision
// 21; the others have keys of their own.
var namedProviders = []string{"anthropic", "openai", "openrouter"}

func providerKey(key string) bool {
	return slices.Contains(providerTexts, key) || key == keyNamed || key == keyCap || key == keyModels
}

// appDefaults are the values of settings that nobody has set. Source:
// runtime.md 7, mcp-state.md 5, tools-permissions.md 9, ui.md 4 and 18. A key
// that is null has no default and is off.
var appDefaults = fields{
	"dailyLimitUsd":            json.RawMessage("null"),
	"monthlyLimitUsd":          json.RawMessage("null"),
	"sessionLimitUsd":          json.RawMessage("null"),
	"providerLimitsUsd":        json.RawMessage("{}"),
	"flightLimitsUsd":          json.RawMessage("{}"),
	"warningThresholdPercent":  json.RawMessage("80"),
	"hardStopThresholdPercent": json.RawMessage("100"),
	"requireApprovalAtLimit":   json.RawMessage("true"),
	"overrideUntilByKey":       json.RawMessage("{}"),
	"auto_failover":            json.RawMessage("true"),
	"auto_archive_done":        json.RawMessage("true"),
	"auto_archive_days":        json.RawMessage("14"),
	"audit_retention_days":     json.RawMessage("7"),
	"launch_location":          json.RawMessage(`"project"`),
	"default_profile":          json.RawMessage(`"builtin-default"`),
	"default_project":          json.RawMessage(`""`),
	contract.SettingEngines:    json.RawMessage("[]"),
	contract.SettingEnginePath: json.RawMessage(`""`),
}

// stateDefaults are the slices that state.v1.json must have.
var stateDefaults = fields{
	"flights": json.RawMessage("[]"), "agents": json.RawMessage("[]"),
	"settings": json.RawMessage("{}"), "ui": json.RawMessage("{}"),
}

// Our own keys in state.v1.json beside the slices.
const (
	keyVersion  = "version"
	keySettings = "settings"
	keyLaunches = "launches"
	keyReprice  = "cost_reprice_v1_at"
)

// settings are the two settings files. They belong to one lane.
type settings struct {
	paths     config.Paths
	normalise map[string]Normalise
	notes     *board
	now       func() time.Time

	state     fields
	app       fields
	providers fields
	launches  map[contract.ProviderID]uint64
}

// load reads both files. What it does not know it keeps.
func (s *settings) load() {
	s.state = loadLadder(s.paths.State(), s.notes, s.now())
	fresh := s.state == nil
	if fresh {
		s.state = fields{}
	}
	s.app = fields{}
	if raw, ok := s.state[keySettings]; ok {
		if app, ok := object(raw); ok {
			s.app = app
		} else {
			s.notes.add("The settings in state.v1.json could not be read, so the defaults are in use. The file before the next change is kept as state.v1.json.bak.")
		}
	}
	s.launches = make(map[contract.ProviderID]uint64)
	if raw, ok := s.state[keyLaunches]; ok && json.Unmarshal(raw, &s.launches) != nil {
		s.launches = make(map[contract.ProviderID]uint64)
	}
	if s.launches == nil {
		s.launches = make(map[contract.ProviderID]uint64)
	}
	if s.providers = loadLadder(s.paths.ProviderSettings(), s.notes, s.now()); s.providers == nil {
		s.providers = fields{}
	}
	if _, ok := s.state[keyReprice]; !ok {
		// No installation of ours has costs that an earlier price table got
		// wrong, so the pass is done before it began. Source: runtime.md 6.
		s.state[keyReprice] = quote(s.now().UTC().Truncate(time.Second).Format(time.RFC3339))
	}
}

// saveState writes state.v1.json with the next version. On failure the memory
// goes back to before.
func (s *settings) saveState(app fields, launches map[contract.ProviderID]uint64) error {
	next := maps.Clone(s.state)
	for key, value := range stateDefaults {
		if _, ok := next[key]; !ok {
			next[key] = value
		}
	}
	var err error
	if next[keySettings], err = contract.Marshal(app); err != nil {
		return err
	}
	if next[keyLaunches], err = contract.Marshal(launches); err != nil {
		return err
	}
	var version uint64
	if raw, ok := next[keyVersion]; ok && json.Unmarshal(raw, &version) != nil {
		version = 0
	}
	if next[keyVersion], err = json.Marshal(version + 1); err != nil {
		return err
	}
	if err := saveLadder(s.paths.State(), next); err != nil {
		return trouble("save the settings", err)
	}
	s.state, s.app, s.launches = next, app, launches
	return nil
}

// show is what get_settings answers: set values over defaults, and how often
// each provider was launched.
func (s *settings) show(failure *contract.Failure) msg.Settings {
	app := maps.Clone(appDefaults)
	maps.Copy(app, s.app)
	if launches, err := contract.Marshal(s.launches); err == nil {
		app[keyLaunches] = launches
	}
	a, err := contract.Marshal(app)
	if err == nil {
		var p []byte
		if p, err = contract.Marshal(s.providers); err == nil {
			return msg.Settings{App: a, Providers: p, Failure: failure}
		}
	}
	return msg.Settings{Failure: contract.Fail(contract.CodeInternal, "The settings could not be encoded. Look at state.v1.json in the data directory.")}
}

// patch merges a patch, all of it or nothing. It may be {"app": {...},
// "providers": {...}}, or the keys of both without the two levels.
func (s *settings) patch(raw json.RawMessage) msg.Settings {
	flat, ok := object(raw)
	if !ok {
		return s.show(contract.BadParam("settings", "an object is wanted."))
	}
	app, providers := fields{}, fields{}
	for key, value := range flat {
		switch {
		case key == "app" || key == "providers":
			inner, ok := object(value)
			if !ok {
				return s.show(contract.BadParam(key, "an object is wanted."))
			}
			if key == "app" {
				maps.Copy(app, inner)
			} else {
				maps.Copy(providers, inner)
			}
		case providerKey(key):
			providers[key] = value
		default:
			app[key] = value
		}
	}
	nextApp, failure := s.mergeApp(app)
	if failure != nil {
		return s.show(failure)
	}
	nextProviders, failure := s.mergeProviders(providers)
	if failure != nil {
		return s.show(failure)
	}
	before := s.providers
	other := !maps.EqualFunc(nextProviders, before, sameJSON)
	if other {
		if err := saveLadder(s.paths.ProviderSettings(), nextProviders); err != nil {
			return s.show(contract.Fail(contract.CodeInternal, "%s", trouble("save the settings of the providers", err)))
		}
		s.providers = nextProviders
	}
	if !maps.EqualFunc(nextApp, s.app, sameJSON) {
		if err := s.saveState(nextApp, s.launches); err != nil {
			if other && saveLadder(s.paths.ProviderSettings(), before) == nil {
				s.providers = before
			}
			return s.show(contract.Fail(contract.CodeInternal, "%s", err))
		}
	}
	return s.show(nil)
}

func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

// launched counts one more launch.
func (s *settings) launched(p contract.ProviderID) error {
	launches := maps.Clone(s.launches)
	launches[p]++
	return s.saveState(s.app, launches)
}

// auditDays is how long the audit is kept.
func (s *settings) auditDays() int {
	var days int
	if raw, ok := s.app["audit_retention_days"]; ok && json.Unmarshal(raw, &days) == nil && days == auditLong {
		return auditLong
	}
	return auditShort
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func quote(s string) json.RawMessage {
	b, _ := contract.Marshal(s) // A string: nothing that Marshal refuses.
	return b
}

// mergeApp lays a patch over the app settings. Keys that this version does not
// know are kept as they come: other parts of the service own them.
func (s *settings) mergeApp(patch fields) (fields, *contract.Failure) {
	next := maps.Clone(s.app)
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		value := patch[key]
		if key == keyLaunches {
			return nil, contract.BadParam(key, "this is counted by the service and cannot be set.")
		}
		if key == keyProfiles {
			return nil, contract.BadParam(key, "profiles have methods of their own, save_profile and delete_profile.")
		}
		if key == "" || len(key) > 128 {
			return nil, contract.BadParam("settings", "a key has 1 to 128 characters.")
		}
		if isNull(value) {
			delete(next, key)
			continue
		}
		checked, failure := checkApp(key, value)
		if key == contract.SettingEnginePath {
			checked, failure = s.enginePath(value)
		}
		if failure != nil {
			return nil, failure
		}
		if checked == nil {
			delete(next, key)
			continue
		}
		next[key] = checked
	}
	// A hard stop below the warning would never warn. Source: runtime.md 7.
	warn, hard := percent(next, "warningThresholdPercent"), percent(next, "hardStopThresholdPercent")
	if _, set := next["hardStopThresholdPercent"]; (set || warn > hard) && hard < warn {
		next["hardStopThresholdPercent"] = number(warn)
	}
	return next, nil
}

func percent(f fields, key string) float64 {
	raw, ok := f[key]
	if !ok {
		raw = appDefaults[key]
	}
	var n float64
	if json.Unmarshal(raw, &n) != nil {
		return 100
	}
	return n
}

func number(n float64) json.RawMessage {
	b, err := json.Marshal(n)
	if err != nil {
		return json.RawMessage("0") // Not finite; callers have checked.
	}
	return b
}

// checkApp returns the value to keep, nil to clear it.
func checkApp(key string, value json.RawMessage) (json.RawMessage, *contract.Failure) {
	switch key {
	case "dailyLimitUsd", "monthlyLimitUsd", "sessionLimitUsd":
		usd, failure := limit(key, value)
		if failure != nil || usd == 0 {
			return nil, failure
		}
		return number(usd), nil
	case "providerLimitsUsd", "flightLimitsUsd":
		return limits(key, value)
	case "warningThresholdPercent", "hardStopThresholdPercent":
		var n float64
		if json.Unmarshal(value, &n) != nil || n < 0 || n > 100 {
			return nil, contract.BadParam(key, "a number from 0 to 100 is wanted.")
		}
		return number(n), nil
	case "overrideUntilByKey":
		var until map[string]int64
		if json.Unmarshal(value, &until) != nil || until == nil {
			return nil, contract.BadParam(key, "an object of times in ms since 1970 is wanted.")
		}
	case "requireApprovalAtLimit", "auto_failover", "auto_archive_done":
		var b bool
		if json.Unmarshal(value, &b) != nil {
			return nil, contract.BadParam(key, "true or false is wanted.")
		}
	case "auto_archive_days":
		var n int
		if json.Unmarshal(value, &n) != nil || n < 1 || n > 365 {
			return nil, contract.BadParam(key, "a whole number of days from 1 to 365 is wanted.")
		}
	case "audit_retention_days":
		var n int
		if json.Unmarshal(value, &n) != nil || n != auditShort && n != auditLong {
			return nil, contract.BadParam(key, "%d or %d days are wanted.", auditShort, auditLong)
		}
	case "launch_location":
		var place string
		if json.Unmarshal(value, &place) != nil || place != "project" && place != "worktree" {
			return nil, contract.BadParam(key, "\"project\" or \"worktree\" is wanted.")
		}
	case "default_project", "default_profile":
		var text string
		if json.Unmarshal(value, &text) != nil {
			return nil, contract.BadParam(key, "a text is wanted.")
		}
		if text == "" {
			return nil, nil
		}
	case contract.SettingEngines:
		return engines(value)
	}
	return value, nil
}

// limit reads an amount, rounded to cents; 0 means off.
func limit(key string, value json.RawMessage) (float64, *contract.Failure) {
	var usd float64
	if json.Unmarshal(value, &usd) != nil || usd > 1e9 {
		return 0, contract.BadParam(key, "an amount in US dollars, or null for none, is wanted.")
	}
	return max(0, math.Round(usd*100)/100), nil
}

func limits(key string, value json.RawMessage) (json.RawMessage, *contract.Failure) {
	amounts, ok := object(value)
	if !ok {
		return nil, contract.BadParam(key, "an object of amounts in US dollars is wanted.")
	}
	out := make(map[string]float64, len(amounts))
	for name, raw := range amounts {
		if isNull(raw) {
			continue
		}
		usd, failure := limit(key+"."+name, raw)
		if failure != nil {
			return nil, failure
		}
		if usd > 0 {
			out[name] = usd
		}
	}
	b, err := contract.Marshal(out)
	if err != nil {
		return nil, contract.BadParam(key, "an object of amounts in US dollars is wanted.")
	}
	return b, nil
}

var engineName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// enginePath checks the program of the default engine; nil clears it.
func (s *settings) enginePath(value json.RawMessage) (json.RawMessage, *contract.Failure) {
	var path string
	if json.Unmarshal(value, &path) != nil {
		return nil, contract.BadParam(contract.SettingEnginePath, "a text is wanted.")
	}
	if path = strings.TrimSpace(path); path == "" {
		return nil, nil
	}
	if normalise := s.normalise[contract.SettingEnginePath]; normalise != nil {
		var err error
		if path, err = normalise(path); err != nil {
			return nil, contract.BadParam(contract.SettingEnginePath, "%s", err)
		}
	}
	return quote(path), nil
}

// engines checks the ACP engines of settings. Source: interface.md decision 17
// and acp.md 10. Keys that are not checked are kept.
func engines(value json.RawMessage) (json.RawMessage, *contract.Failure) {
	var list []struct {
		Name       string            `json:"name"`
		Label      string            `json:"label"`
		Command    string            `json:"command"`
		Args       []string          `json:"args"`
		Env        map[string]string `json:"env"`
		AuthMethod string            `json:"auth_method"`
	}
	if json.Unmarshal(value, &list) != nil || list == nil {
		return nil, contract.BadParam("engines", "a list of {name, label?, command, args?, env?, auth_method?} is wanted.")
	}
	seen := map[string]bool{}
	for _, e := range list {
		switch {
		case !engineName.MatchString(e.Name):
			return nil, contract.BadParam("engines", "a name is 1 to 32 of a-z 0-9 and -.")
		case e.Name == "packetcode":
			return nil, contract.BadParam("engines", "packetcode is the built-in engine. Choose another name.")
		case seen[e.Name]:
			return nil, contract.BadParam("engines", "%s stands there twice. Choose another name.", e.Name)
		case strings.TrimSpace(e.Command) == "":
			return nil, contract.BadParam("engines", "%s has no command.", e.Name)
		}
		for name := range e.Env {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				return nil, contract.BadParam("engines", "a variable of %s has no valid name.", e.Name)
			}
		}
		seen[e.Name] = true
	}
	return value, nil
}

// mergeProviders lays a patch over the settings of providers.
func (s *settings) mergeProviders(patch fields) (fields, *contract.Failure) {
	next := maps.Clone(s.providers)
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		value := patch[key]
		if !providerKey(key) {
			return nil, contract.BadParam(key, "there is no such setting of a provider.")
		}
		if isNull(value) {
			delete(next, key)
			continue
		}
		var failure *contract.Failure
		switch key {
		case keyNamed:
			failure = s.mergeNamed(next, value)
		case keyModels:
			failure = mergeModels(next, value)
		case keyCap:
			var n int
			if json.Unmarshal(value, &n) != nil || n < 0 {
				failure = contract.BadParam(key, "a whole number of tokens is wanted.")
				break
			}
			next[key] = number(float64(n))
		default:
			failure = s.mergeText(next, key, key, value)
		}
		if failure != nil {
			return nil, failure
		}
	}
	return next, nil
}

// mergeText checks one text; an empty one clears.
func (s *settings) mergeText(into fields, key, name string, value json.RawMessage) *contract.Failure {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return contract.BadParam(name, "a text is wanted.")
	}
	if strings.TrimSpace(text) == "" {
		delete(into, key)
		return nil
	}
	if normalise := s.normalise[name]; normalise != nil {
		got, err := normalise(text)
		if err != nil {
			return contract.BadParam(name, "%s", err)
		}
		text = got
	}
	into[key] = quote(text)
	return nil
}

// mergeNamed merges per provider: one that is absent stays.
func (s *settings) mergeNamed(into fields, value json.RawMessage) *contract.Failure {
	patch, ok := object(value)
	if !ok {
		return contract.BadParam(keyNamed, "an object of URLs is wanted.")
	}
	named, ok := object(into[keyNamed])
	if !ok {
		named = fields{}
	}
	for _, provider := range slices.Sorted(maps.Keys(patch)) {
		name := keyNamed + "." + provider
		if !slices.Contains(namedProviders, provider) {
			return contract.BadParam(name, "there is no such provider. Accepted: %s.", strings.Join(namedProviders, ", "))
		}
		if isNull(patch[provider]) {
			delete(named, provider)
			continue
		}
		if failure := s.mergeText(named, provider, name, patch[provider]); failure != nil {
			return failure
		}
	}
	if len(named) == 0 {
		delete(into, keyNamed)
		return nil
	}
	b, err := contract.Marshal(named)
	if err != nil {
		return contract.BadParam(keyNamed, "an object of URLs is wanted.")
	}
	into[keyNamed] = b
	return nil
}

// mergeModels keeps non-empty names, each once, in order.
func mergeModels(into fields, value json.RawMessage) *contract.Failure {
	var list []string
	if json.Unmarshal(value, &list) != nil || len(list) > 200 {
		return contract.BadParam(keyModels, "a list of at most 200 model names is wanted.")
	}
	out := make([]string, 0, len(list))
	for _, m := range list {
		if m = strings.TrimSpace(m); m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		delete(into, keyModels)
		return nil
	}
	b, err := contract.Marshal(out)
	if err != nil {
		return contract.BadParam(keyModels, "a list of model names is wanted.")
	}
	into[keyModels] = b
	return nil
}
