package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// caller is who makes a request.
type caller struct {
	client contract.Client
	// issued, if set, is called once what the request sends to an actor lies
	// in that actor's mailbox, or has been answered.
	issued func()
}

// handler runs one method. The result encodes to JSON.
type handler func(d *doors, c caller, p json.RawMessage) (any, *contract.Failure)

// The waits for an actor, in whole seconds. Patient is for what runs a person's
// git: a checkout or a push may take minutes.
const (
	quick   = 5
	slow    = 30
	patient = 300
)

// toOwner are the methods that the owner of one conversation answers, each with
// the seconds it may take. They all name it in session_id.
var toOwner = map[contract.Method]int{
	contract.MethodGetConversation:   slow,
	contract.MethodStart:             patient, // It may check a worktree out.
	contract.MethodSend:              slow,
	contract.MethodCancel:            quick,
	contract.MethodChangeModel:       quick,
	contract.MethodSetPlanMode:       quick,
	contract.MethodSetPermissionMode: quick,
	contract.MethodSetApproveWrites:  quick,
	contract.MethodRespondPermission: quick,
	contract.MethodRespondEdit:       quick,
	contract.MethodCancelPending:     quick,
	contract.MethodRetry:             quick,
	contract.MethodClose:             quick,
	contract.MethodApprovePlan:       quick,
	contract.MethodQueueRemove:       quick,
	contract.MethodDelete:            patient, // It may remove one.
	contract.MethodRename:            quick,
	contract.MethodArchive:           quick,
	contract.MethodPin:               quick,
	contract.MethodOneShot:           quick,
	contract.MethodWorktree:          slow,
	contract.MethodMergeWorktree:     patient,
	contract.MethodWorktreePR:        patient,
	contract.MethodDiscardWorktree:   patient,
	contract.MethodConfirmDelete:     slow,
	contract.MethodPromptLayers:      quick,
	contract.MethodFork:              slow,
	contract.MethodRestore:           quick,
	contract.MethodListEdits:         slow,
	contract.MethodGetEdit:           slow,
	contract.MethodUndoEdit:          slow,
	contract.MethodDiffComments:      quick,
	contract.MethodRemovePattern:     quick,
}

// table is the one list of methods for every door. Whoever is not in it is
// unknown; contract.Client.May says who may call.
var table map[contract.Method]handler

func init() {
	table = map[contract.Method]handler{
		contract.MethodSubscribe:         subscribe,
		contract.MethodUnsubscribe:       unsubscribe,
		contract.MethodSession:           whoAmI,
		contract.MethodListConversations: listConversations,
		contract.MethodListProviders:     listProviders,
		contract.MethodProviderAuth:      providerAuth,
		contract.MethodSidecarStatus:     sidecarStatus,
		contract.MethodACPUsage:          acpUsage,
		contract.MethodGetSettings:       getSettings,
		contract.MethodSetSettings:       setSettings,
		contract.MethodSetKey:            setKey,
		contract.MethodDeleteKey:         deleteKey,
		contract.MethodListKeys:          listKeys,
		contract.MethodListAudit:         listAudit,
		contract.MethodTrustProject:      trustProject,
		contract.MethodResetActor:        actorCall(func(n gen.Atom) any { return msg.Reset{Name: n} }),
		contract.MethodStopActor:         actorCall(func(n gen.Atom) any { return msg.StopChild{Name: n} }),
		contract.MethodStartActor:        actorCall(func(n gen.Atom) any { return msg.StartChild{Name: n} }),
	}
	maps.Copy(table, deskMethods)
	maps.Copy(table, engineMethods)
	maps.Copy(table, terminalMethods)
	maps.Copy(table, opsMethods)
	for m, seconds := range toOwner {
		table[m] = toConversation(m, seconds)
	}
}

// dispatch checks method, role and then runs the handler. A panic in one is
// answered like every other fault, and the connection stays.
func (d *doors) dispatch(c caller, m contract.Method, p json.RawMessage) (result any, failure *contract.Failure) {
	began := time.Now()
	run, known := table[m]
	defer func() {
		if fault := recover(); fault != nil {
			result, failure = nil, d.internal("door fault", "method", string(m), "fault", fmt.Sprint(fault))
		}
		d.metrics.request(m, known, failure, time.Since(began))
	}()
	if !known {
		return nil, contract.Fail(contract.CodeNoMethod, "Unknown method: %s", clip(string(m)))
	}
	if !c.client.May(m) {
		return nil, contract.Fail(contract.CodeForbidden, "%s", contract.TextMonitor)
	}
	return run(d, c, p)
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }

// toConversation hands a method to the conversation that session_id names.
func toConversation(m contract.Method, seconds int) handler {
	return func(d *doors, c caller, p json.RawMessage) (any, *contract.Failure) {
		named, failure := params[contract.SessionParams](p)
		if failure != nil {
			return nil, failure
		}
		if !contract.ValidID(string(named.SessionID)) {
			return nil, contract.BadParam("session_id", "want 1 to 64 of A-Z a-z 0-9 _ and -")
		}
		return d.conversation(named.SessionID, msg.Command{Method: m, Params: p}, seconds, c.issued)
	}
}

func whoAmI(d *doors, c caller, _ json.RawMessage) (any, *contract.Failure) {
	return contract.Session{
		Role: c.client, BootID: d.opt.BootID, Version: version(), ProjectPath: d.opt.ProjectPath, Head: d.opt.Log.Head(),
	}, nil
}

func listConversations(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	reply, failure := d.call(msg.Store, msg.ListConversations{}, slow)
	if failure != nil {
		return nil, failure
	}
	list, ok := reply.([]contract.Summary)
	if !ok || list == nil {
		list = []contract.Summary{}
	}
	return list, nil
}

func listProviders(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	rows, err := d.opt.Providers.List(ctx)
	if err != nil {
		return nil, contract.Fail(contract.CodeInternal, "%s", sentence(err))
	}
	return rows, nil
}

func sentence(err error) string {
	text := err.Error()
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

func providerAuth(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.ProviderParams](raw)
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	badge, err := d.opt.Providers.Badge(ctx, p.Provider)
	if err != nil {
		return nil, contract.Fail(contract.CodeBadParams, "%s", sentence(err))
	}
	return badge, nil
}

func sidecarStatus(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	if d.opt.Sidecar == nil {
		return contract.SidecarStatus{State: "not_started"}, nil
	}
	return d.opt.Sidecar(), nil
}

// settings is the answer of both settings methods.
type settings struct {
	App       json.RawMessage `json:"app"`
	Providers json.RawMessage `json:"providers"`
}

func settingsReply(reply any, failure *contract.Failure) (any, *contract.Failure) {
	if failure != nil {
		return nil, failure
	}
	s, ok := reply.(msg.Settings)
	if !ok {
		return nil, contract.Fail(contract.CodeInternal, "The settings could not be read.")
	}
	if s.Failure != nil {
		return nil, s.Failure
	}
	return settings{orObject(s.App), orObject(s.Providers)}, nil
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

func getSettings(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	return settingsReply(d.call(msg.Store, msg.GetSettings{}, quick))
}

func setSettings(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	result, failure := settingsReply(d.call(msg.Store, msg.PatchSettings{Patch: raw}, quick))
	if failure == nil {
		var patch map[string]json.RawMessage
		if json.Unmarshal(raw, &patch) == nil {
			d.settingsChanged(patch)
		}
	}
	return result, failure
}

// settingsChanged tells every window which badges a patch may have changed. A
// list of engines is one change: whoever hears of it asks for all rows again.
func (d *doors) settingsChanged(patch map[string]json.RawMessage) {
	if patch["providers"] != nil {
		for _, r := range contract.Rows {
			if r.Transport == contract.TransportInProcess && r.ID != contract.RowDemo {
				d.authChanged(r.Probe)
			}
		}
	}
	var app map[string]json.RawMessage
	if json.Unmarshal(patch["app"], &app) != nil {
		app = nil
	}
	for _, key := range []string{contract.SettingEngines, contract.SettingEnginePath} {
		if patch[key] != nil || app[key] != nil {
			d.authChanged(contract.AuthProbe(contract.ProviderPacketcode))
			return
		}
	}
}

// authChanged tells every window to probe again.
func (d *doors) authChanged(probe contract.AuthProbe) {
	body, err := contract.Marshal(contract.ProviderAuth{Provider: probe})
	if err != nil {
		return
	}
	if _, err := d.opt.Publisher.Publish(contract.SubjectProviderAuth, "", body); err != nil {
		d.opt.Logger.Warn("badge change not published", "probe", string(probe), "reason", err)
	}
}

// knownAccount refuses an account that no row reads.
func knownAccount(a contract.KeyringAccount) *contract.Failure {
	names := []string{}
	for _, r := range contract.Rows {
		if r.Account == a && a != "" {
			return nil
		}
		if r.Account != "" && !slices.Contains(names, string(r.Account)) {
			names = append(names, string(r.Account))
		}
	}
	if a == "api-key-minimax-api" || a == "github-token" {
		return nil
	}
	return contract.BadParam("account", "want one of %s", strings.Join(names, ", "))
}

func (d *doors) accountChanged(a contract.KeyringAccount) {
	seen := map[contract.AuthProbe]bool{}
	for _, r := range contract.Rows {
		if r.Account == a && !seen[r.Probe] {
			seen[r.Probe] = true
			d.authChanged(r.Probe)
		}
	}
}

func setKey(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.KeyParams](raw)
	if failure != nil {
		return nil, failure
	}
	if failure := knownAccount(p.Account); failure != nil {
		return nil, failure
	}
	if strings.TrimSpace(p.Value) == "" {
		return nil, contract.BadParam("value", "must not be empty")
	}
	reply, failure := d.call(msg.Secret, msg.SetKey{Account: p.Account, Key: msg.Key(p.Value)}, slow)
	if failure != nil {
		return nil, failure
	}
	stored, ok := reply.(msg.StoredKey)
	if !ok {
		return nil, d.internal("secret answered strangely", "type", typeName(reply))
	}
	if stored.Err != nil {
		return nil, contract.Fail(contract.CodeInternal, "%s", sentence(stored.Err))
	}
	d.accountChanged(p.Account)
	return struct {
		Source string `json:"source"`
	}{stored.Source}, nil
}

func deleteKey(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.KeyParams](raw)
	if failure != nil {
		return nil, failure
	}
	if failure := knownAccount(p.Account); failure != nil {
		return nil, failure
	}
	if failure := done(d.call(msg.Secret, msg.DeleteKey{Account: p.Account}, slow)); failure != nil {
		return nil, failure
	}
	d.accountChanged(p.Account)
	return struct{}{}, nil
}

// done reads a reply that has nothing to tell but its failure.
func done(reply any, failure *contract.Failure) *contract.Failure {
	if failure != nil {
		return failure
	}
	if r, ok := reply.(msg.Done); ok && r.Err != nil {
		return contract.Fail(contract.CodeInternal, "%s", sentence(r.Err))
	}
	return nil
}

func listKeys(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	reply, failure := d.call(msg.Secret, msg.KeyStatus{}, slow)
	if failure != nil {
		return nil, failure
	}
	keys, ok := reply.([]contract.KeyInfo)
	if !ok || keys == nil {
		keys = []contract.KeyInfo{}
	}
	return keys, nil
}

func listAudit(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	reply, failure := d.call(msg.Store, msg.ListAudit{}, quick)
	if failure != nil {
		return nil, failure
	}
	entries, ok := reply.([]contract.AuditEntry)
	if !ok || entries == nil {
		entries = []contract.AuditEntry{}
	}
	return entries, nil
}

func trustProject(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.TrustProjectParams](raw)
	if failure != nil {
		return nil, failure
	}
	if p.ProjectPath == "" {
		return nil, contract.BadParam("project_path", "must not be empty")
	}
	if failure := done(d.call(msg.Store, msg.SetTrust{ProjectPath: p.ProjectPath, Trusted: p.Trusted}, quick)); failure != nil {
		return nil, failure
	}
	return struct{}{}, nil
}

// actorCall is an operator's action on a registered name of the tree.
func actorCall(request func(gen.Atom) any) handler {
	return func(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
		p, failure := params[contract.ActorParams](raw)
		if failure != nil {
			return nil, failure
		}
		if p.Name == "" || len(p.Name) > 255 {
			return nil, contract.BadParam("name", "want a registered name of the tree")
		}
		name := gen.Atom(p.Name)
		if sup, ok := msg.SupervisorOf(name); ok {
			reply, failure := d.call(sup, request(name), 6)
			if failure != nil {
				return nil, failure
			}
			a, ok := reply.(msg.ChildAnswer)
			if !ok {
				return nil, d.internal("supervisor answered strangely", "type", typeName(reply))
			}
			return contract.ActorResult{State: string(a.State)}, a.Err
		}
		return nil, msg.RefuseUnknown(name)
	}
}
