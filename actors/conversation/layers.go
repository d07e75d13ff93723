package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// This file makes what a launch needs from outside before the conversation
// exists: its profile, its worktree, the layers of its system prompt. Source:
// runtime.md 8, mcp-state.md 8, 9 and 11.

// launchOrder is a start that is to be prepared.
type launchOrder struct {
	id       contract.ConversationID
	params   contract.StartParams
	row      contract.Row
	explicit explicit
}

// explicit says which parts of the posture the caller named: those beat the
// profile's, whatever their value.
type explicit struct{ plan, mode bool }

// prepared is what a launch brings into its conversation.
type prepared struct {
	profile  contract.Profile
	named    bool // Somebody chose the profile.
	worktree *contract.Worktree
	project  string
	layers   []contract.PromptLayer
	explicit explicit
	failure  *contract.Failure
}

// launchOrder says what is to be prepared for a command; false when it starts
// no new conversation, or will be refused anyway: the command says so itself.
func (a *actor) launchOrder(m msg.Command) (launchOrder, bool) {
	c := a.core
	if m.Method != contract.MethodStart || c.rec != nil || a.opt.Desk == nil {
		return launchOrder{}, false
	}
	p, failure := params[contract.StartParams](m.Params)
	if failure != nil {
		return launchOrder{}, false
	}
	probe := newCore(c.id, c.boot) // What it says is dropped with it.
	probe.desk = true
	row, failure := probe.route(p)
	if failure != nil || probe.checkStart(p, row, outside{checkProject: checkProject}) != nil {
		return launchOrder{}, false
	}
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(m.Params, &keys) // Decoded above already.
	said := func(key string) bool { raw, ok := keys[key]; return ok && string(bytes.TrimSpace(raw)) != "null" }
	return launchOrder{id: c.id, params: p, row: row, explicit: explicit{plan: said("plan_mode"), mode: p.PermissionMode != ""}}, true
}

// prepareLaunch makes everything. It blocks.
func prepareLaunch(ctx context.Context, node gen.Node, desk Desk, o launchOrder) *prepared {
	out := &prepared{project: o.params.ProjectPath, explicit: o.explicit, named: o.params.Profile != ""}
	if out.profile, out.failure = findProfile(node, o.params.Profile); out.failure != nil {
		return out
	}
	if o.params.Worktree {
		w, work, err := desk.Provision(ctx, o.params.ProjectPath, o.id)
		if err != nil {
			out.failure = contract.Fail(contract.CodeConflict, "%s", err)
			return out
		}
		out.worktree, out.project = &w, work
	}
	if o.params.SystemPromptOverride != "" {
		out.layers = []contract.PromptLayer{{Kind: contract.LayerOverride, Source: "the caller of the launch", Text: o.params.SystemPromptOverride}}
		return out
	}
	out.layers = append(out.layers, contract.PromptLayer{Kind: contract.LayerBuiltIn, Source: "PacketBench", Text: instructions(out.project, o.row.Transport)})
	out.layers = append(out.layers, desk.Cascade(ctx, out.project)...)
	// Gap: the memory brief is a layer here once there is memory (issue 6).
	if text := strings.TrimSpace(out.profile.SystemPrompt); text != "" {
		out.layers = append(out.layers, contract.PromptLayer{Kind: contract.LayerProfile, Source: out.profile.Name, Text: text})
	}
	return out
}

// findProfile returns the profile of a launch. One that names none gets the
// built-in default, which restricts nothing.
func findProfile(node gen.Node, id string) (contract.Profile, *contract.Failure) {
	if id == "" {
		id = contract.ProfileDefault
	}
	reply, err := node.CallWithTimeout(msg.Store, msg.ListProfiles{}, 5)
	list, ok := reply.(msg.ProfileList)
	if err != nil || !ok || list.Failure != nil {
		return contract.Profile{}, contract.Fail(contract.CodeInternal, "The profiles could not be read just now; try again.")
	}
	all := list.Profiles.Profiles
	i := slices.IndexFunc(all, func(p contract.Profile) bool { return p.ID == id })
	if i < 0 {
		return contract.Profile{}, contract.BadParam("profile", "there is no profile %s any more; choose another one", clipRunes(id, 80))
	}
	return all[i], nil
}

// frozen puts what was prepared into the record of a start. What the caller
// named beats the profile, but for a pinned model. Source: runtime.md 8.
func (p *prepared) frozen(r *contract.Record, asked contract.StartParams) {
	r.ProjectPath = p.project
	if p.worktree != nil {
		r.Worktree = contract.EncodeWorktree(*p.worktree)
	}
	r.Profile, r.MemoryContext = p.profile.ID, p.profile.MemoryContextEnabled
	if p.profile.PinnedModel != "" {
		r.Model = p.profile.PinnedModel
	}
	if asked.AllowedTools == nil {
		r.AllowedTools = allowed(p.profile.AllowedTools)
	}
	if p.named && !p.explicit.plan {
		r.PlanMode = p.profile.PlanMode
	}
	if p.named && !p.explicit.mode {
		r.PermissionMode = p.profile.PermissionMode
	}
	texts := make([]string, 0, len(p.layers))
	for _, l := range p.layers {
		texts = append(texts, l.Text)
		r.PromptLayers = append(r.PromptLayers, contract.RecordLayer{Kind: l.Kind, Source: l.Source, Bytes: len(l.Text), Note: l.Note})
	}
	r.SystemPrompt = strings.Join(texts, contract.LayerJoint)
}

// promptLayers cuts the frozen prompt into what it was made of. One that was
// frozen by a version without layers is one layer.
func (c *core) promptLayers() contract.PromptLayers {
	out := contract.PromptLayers{Layers: []contract.PromptLayer{}, SystemPrompt: c.rec.SystemPrompt}
	rest := c.rec.SystemPrompt
	for i, l := range c.rec.PromptLayers {
		if i > 0 {
			var joined bool
			if rest, joined = strings.CutPrefix(rest, contract.LayerJoint); !joined {
				out.Layers = nil
				break
			}
		}
		if l.Bytes < 0 || l.Bytes > len(rest) {
			out.Layers = nil
			break
		}
		out.Layers = append(out.Layers, contract.PromptLayer{Kind: l.Kind, Source: l.Source, Text: rest[:l.Bytes], Note: l.Note})
		rest = rest[l.Bytes:]
	}
	if (len(out.Layers) == 0 || rest != "") && c.rec.SystemPrompt != "" {
		out.Layers = []contract.PromptLayer{{Kind: contract.LayerOverride, Source: "an earlier launch", Text: c.rec.SystemPrompt}}
	}
	if out.Layers == nil {
		out.Layers = []contract.PromptLayer{}
	}
	return out
}
