package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// An interpreter of Python; home is its virtual environment, empty where it is the machine's own.
type interpreter struct {
	path string
	home string
}

// interpreterOf finds the interpreter of a project: the one of `runtime.options.virtualenv` in its Pulumi.yaml, a path
// from there, or else `python3` on PATH.
func interpreterOf(info *pulumirpc.ProgramInfo) (interpreter, error) {
	named := info.GetOptions().GetFields()["virtualenv"].GetStringValue()
	if named == "" {
		path, err := exec.LookPath("python3")
		return interpreter{path: path}, err
	}
	home := named
	if !filepath.IsAbs(home) {
		home = filepath.Join(info.GetRootDirectory(), home)
	}
	path := filepath.Join(home, "bin", "python")
	if _, err := os.Stat(path); err != nil {
		return interpreter{}, fmt.Errorf(
			"there is no virtual environment in %s, which Pulumi.yaml names in runtime.options.virtualenv\n"+
				"hint: make it, with `make venv` in the checkout of Modelplane", home)
	}
	return interpreter{path: path, home: home}, nil
}

// environment is the variables of a process of this interpreter: as if its virtual environment had been activated.
func (python interpreter) environment(outer []string) []string {
	if python.home == "" {
		return outer
	}
	var inner []string
	path := filepath.Join(python.home, "bin")
	for _, variable := range outer {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "PATH":
			path += string(os.PathListSeparator) + value
		case "PYTHONHOME", "VIRTUAL_ENV":
		default:
			inner = append(inner, variable)
		}
	}
	return append(inner, "VIRTUAL_ENV="+python.home, "PATH="+path)
}

// A plugin that an SDK names in its pulumi-plugin.json.
type plugin struct {
	Resource bool   `json:"resource"`
	Name     string `json:"name"`
	Version  string `json:"version"`
	Server   string `json:"server"`
}

// pluginsOf reads what the SDKs in the project's virtual environment need. One that is not readable is passed over: the
// engine asks again when a program uses it.
func pluginsOf(info *pulumirpc.ProgramInfo) ([]plugin, error) {
	python, err := interpreterOf(info)
	if err != nil || python.home == "" {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(python.home, "lib", "python3*", "site-packages", "*", "pulumi-plugin.json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var found []plugin
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var one plugin
		if json.Unmarshal(text, &one) == nil && one.Resource && one.Name != "" {
			found = append(found, one)
		}
	}
	return found, nil
}
