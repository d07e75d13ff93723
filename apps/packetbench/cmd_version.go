package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// versionCmd prints what this program is made of.
type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// versions is the result of version --json.
type versions struct {
	Version         string `json:"version"`
	Commit          string `json:"commit"`
	Go              string `json:"go"`
	Ergo            string `json:"ergo"`
	NATS            string `json:"nats"`
	SidecarProtocol int    `json:"sidecar_protocol"`
}

// Run prints the versions.
func (c *versionCmd) Run(g *Globals) error {
	info, _ := debug.ReadBuildInfo()
	v := versionsOf(info)
	if c.JSON {
		return json.NewEncoder(g.Stdout).Encode(v)
	}
	_, err := fmt.Fprintf(g.Stdout, "PacketBench %s\ncommit %s\ngo %s\nergo %s\nnats-server %s\nsidecar protocol %d\n",
		v.Version, v.Commit, v.Go, v.Ergo, v.NATS, v.SidecarProtocol)
	return err
}

// versionsOf reads the modules out of the program itself, so that they cannot
// differ from what was linked.
func versionsOf(info *debug.BuildInfo) versions {
	v := versions{
		Version: config.Version, Commit: config.Commit, Go: runtime.Version(),
		Ergo: "unknown", NATS: "unknown", SidecarProtocol: contract.SidecarProtocol,
	}
	if info == nil {
		return v
	}
	for _, m := range info.Deps {
		linked := m
		if m.Replace != nil {
			linked = m.Replace
		}
		switch m.Path {
		case "ergo.services/ergo":
			v.Ergo = linked.Version
		case "github.com/nats-io/nats-server/v2":
			v.NATS = linked.Version
		}
	}
	return v
}
