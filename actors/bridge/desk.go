package bridge

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Desk answers what a window asks about project folders and providers beyond
// any conversation. Implemented by the wiring, over git, the files of a project
// and the network. Paths it is given are absolute, existing folders.
type Desk interface {
	FindFiles(ctx context.Context, p contract.FindFilesParams) contract.FoundFiles
	// Commands takes an empty path for the global ones alone.
	Commands(project string) []contract.SlashCommand
	Project(ctx context.Context, project string) contract.ProjectFacts
	// Diff fails with an error whose text is for a person.
	Diff(ctx context.Context, project string) (contract.ProjectDiff, error)
	Export(c contract.Conversation, format contract.ExportFormat) (contract.Exported, error)
	// TestKey fails with an error whose text is for a person, for a provider
	// that cannot be tried.
	TestKey(ctx context.Context, provider contract.ProviderID) (contract.KeyTest, error)
}

// deskMethods are the methods about projects, profiles and the past.
var deskMethods = map[contract.Method]handler{
	contract.MethodFindFiles:    findFiles,
	contract.MethodListCommands: listCommands,
	contract.MethodProject:      projectFacts,
	contract.MethodProjectDiff:  projectDiff,
	contract.MethodListProfiles: func(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
		return d.profiles(msg.ListProfiles{})
	},
	contract.MethodSaveProfile:    saveProfile,
	contract.MethodCloneProfile:   profileCall(func(id string) any { return msg.CloneProfile{ID: id} }),
	contract.MethodDeleteProfile:  profileCall(func(id string) any { return msg.DeleteProfile{ID: id} }),
	contract.MethodDefaultProfile: profileCall(func(id string) any { return msg.DefaultProfile{ID: id} }),
	contract.MethodExport:         exportConversation,
	contract.MethodSearch:         searchConversations,
	contract.MethodTestKey:        testKey,
}

// folder refuses what is no absolute, existing folder.
func folder(path string) *contract.Failure {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return contract.BadParam("project_path", "want the absolute path of a folder")
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return contract.BadParam("project_path", "%s is not a folder that can be opened", clip(path))
	}
	return nil
}

func findFiles(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.FindFilesParams](raw)
	if failure == nil {
		failure = folder(p.ProjectPath)
	}
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	return d.opt.Desk.FindFiles(ctx, p), nil
}

func listCommands(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.ProjectParams](raw)
	if failure == nil && p.ProjectPath != "" {
		failure = folder(p.ProjectPath)
	}
	if failure != nil {
		return nil, failure
	}
	return d.opt.Desk.Commands(p.ProjectPath), nil
}

func projectFacts(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.ProjectParams](raw)
	if failure == nil {
		failure = folder(p.ProjectPath)
	}
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	return d.opt.Desk.Project(ctx, p.ProjectPath), nil
}

func projectDiff(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.ProjectParams](raw)
	if failure == nil {
		failure = folder(p.ProjectPath)
	}
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	diff, err := d.opt.Desk.Diff(ctx, p.ProjectPath)
	if err != nil {
		return nil, contract.Fail(contract.CodeConflict, "%s", err)
	}
	return diff, nil
}

// profiles asks the store.
func (d *doors) profiles(request any) (any, *contract.Failure) {
	reply, failure := d.call(msg.Store, request, quick)
	if failure != nil {
		return nil, failure
	}
	list, ok := reply.(msg.ProfileList)
	if !ok {
		return nil, d.internal("store answered strangely", "type", typeName(reply))
	}
	if list.Failure != nil {
		return nil, list.Failure
	}
	return list.Profiles, nil
}

func saveProfile(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.SaveProfileParams](raw)
	if failure != nil {
		return nil, failure
	}
	return d.profiles(msg.SaveProfile{Profile: p.Profile})
}

func profileCall(request func(id string) any) handler {
	return func(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
		p, failure := params[contract.ProfileParams](raw)
		if failure == nil && (p.ID == "" || len(p.ID) > 64) {
			failure = contract.BadParam("id", "want the id of a profile")
		}
		if failure != nil {
			return nil, failure
		}
		return d.profiles(request(p.ID))
	}
}

// exportConversation writes the same snapshot that a window gets.
func exportConversation(d *doors, c caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.ExportParams](raw)
	switch {
	case failure != nil:
		return nil, failure
	case !contract.ValidID(string(p.SessionID)):
		return nil, contract.BadParam("session_id", "want 1 to 64 of A-Z a-z 0-9 _ and -")
	case p.Format != contract.ExportMarkdown && p.Format != contract.ExportJSON:
		return nil, contract.BadParam("format", "want md or json")
	}
	result, failure := d.conversation(p.SessionID, msg.Command{Method: contract.MethodGetConversation, Params: raw}, slow, c.issued)
	if failure != nil {
		return nil, failure
	}
	snapshot, ok := result.(contract.Snapshot)
	if !ok {
		return nil, d.internal("conversation answered strangely", "conv", string(p.SessionID), "type", typeName(result))
	}
	out, err := d.opt.Desk.Export(snapshot.Conversation, p.Format)
	if err != nil {
		return nil, contract.Fail(contract.CodeInternal, "%s", sentence(err))
	}
	return out, nil
}

// maxSearch is the longest text that is looked for, in bytes.
const maxSearch = 1024

func searchConversations(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.SearchParams](raw)
	switch {
	case failure != nil:
		return nil, failure
	case strings.TrimSpace(p.Query) == "":
		return nil, contract.BadParam("query", "must not be empty")
	case len(p.Query) > maxSearch:
		return nil, contract.BadParam("query", "want at most %d bytes", maxSearch)
	}
	reply, failure := d.call(msg.Store, msg.Search{Params: p}, slow)
	if failure != nil {
		return nil, failure
	}
	found, ok := reply.(contract.SearchResult)
	if !ok {
		return nil, d.internal("store answered strangely", "type", typeName(reply))
	}
	return found, nil
}

func testKey(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.KeyTestParams](raw)
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	result, err := d.opt.Desk.TestKey(ctx, p.Provider)
	if err != nil {
		return nil, contract.BadParam("provider", "%s", err)
	}
	return result, nil
}
