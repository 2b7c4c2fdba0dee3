package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// What an interrupted program has left to end by itself before it is killed; the engine gives this process five.
const grace = 3 * time.Second

// The exit code by which run_program.py says that the program failed and its reader knows why.
const told = 32

//go:embed run_program.py
var runProgram []byte

type host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	engine string
	// life ends with stop, and every process started here with it.
	life context.Context
	end  context.CancelFunc
	// processes counts those that still run.
	processes sync.WaitGroup
}

func newHost(engine string) *host {
	life, end := context.WithCancel(context.Background())
	return &host{engine: engine, life: life, end: end}
}

// stop interrupts every process that was started here, and waits for them.
func (host *host) stop() {
	host.end()
	host.processes.Wait()
}

// Run runs a program to its end. Nothing of the configuration is in the process's arguments or environment, where
// others could read it.
func (host *host) Run(ctx context.Context, request *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	python, err := interpreterOf(request.GetInfo())
	if err != nil {
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	}
	message, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command, done := host.command(ctx, python, "-u", "-", host.engine)
	defer done()
	command.Dir = request.GetPwd()
	command.Stdin = bytes.NewReader(runProgram)
	command.Stdout = os.Stdout
	command.Stderr = os.Stderr
	command.ExtraFiles = []*os.File{reader}
	err = command.Start()
	reader.Close()
	if err != nil {
		writer.Close()
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("%s cannot be started: %v", python.path, err)}, nil
	}
	go func() {
		defer writer.Close()
		_, _ = writer.Write(message)
	}()
	return host.outcome(ctx, command.Wait()), nil
}

// outcome is what the engine is told of a program that has ended; of one that was stopped it knows why.
func (host *host) outcome(call context.Context, err error) *pulumirpc.RunResponse {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}
	case call.Err() != nil, host.life.Err() != nil, errors.As(err, &failed) && failed.ExitCode() == told:
		return &pulumirpc.RunResponse{Bail: true}
	default:
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program ended early: %v", err)}
	}
}

// RunPlugin runs a plugin that is written in Python, as a policy pack is.
func (host *host) RunPlugin(
	request *pulumirpc.RunPluginRequest, stream pulumirpc.LanguageRuntime_RunPluginServer,
) error {
	info := request.GetInfo()
	python, err := interpreterOf(info)
	if err != nil {
		return err
	}
	program := filepath.Join(info.GetProgramDirectory(), info.GetEntryPoint())
	arguments := append([]string{"-u", program}, request.GetArgs()...)
	if request.GetKind() == "analyzer" {
		arguments = append(append([]string{"-u", "-m", "pulumi.policy"}, request.GetArgs()...), program)
	}
	command, done := host.command(stream.Context(), python, arguments...)
	defer done()
	command.Dir = request.GetPwd()
	command.Env = python.environment(request.GetEnv())
	var lock sync.Mutex
	command.Stdout = writerFunc(func(text []byte) error {
		lock.Lock()
		defer lock.Unlock()
		return stream.Send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Stdout{Stdout: text}})
	})
	command.Stderr = writerFunc(func(text []byte) error {
		lock.Lock()
		defer lock.Unlock()
		return stream.Send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Stderr{Stderr: text}})
	})
	var failed *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &failed) {
		return err
	}
	code := int32(command.ProcessState.ExitCode())
	return stream.Send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Exitcode{Exitcode: code}})
}

// command is a process that is interrupted when its call or this host ends. The function that comes with it is called
// when the process has ended.
func (host *host) command(call context.Context, python interpreter, arguments ...string) (*exec.Cmd, func()) {
	ctx, end := context.WithCancel(call)
	unhook := context.AfterFunc(host.life, end)
	command := exec.CommandContext(ctx, python.path, arguments...)
	command.Env = python.environment(os.Environ())
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = grace
	host.processes.Add(1)
	return command, func() {
		unhook()
		end()
		host.processes.Done()
	}
}

// GetRequiredPackages lists the plugins of the SDKs that the project's interpreter has installed.
func (host *host) GetRequiredPackages(
	_ context.Context, request *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	plugins, err := pluginsOf(request.GetInfo())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetRequiredPackagesResponse{}
	for _, plugin := range plugins {
		response.Packages = append(response.Packages, &pulumirpc.PackageDependency{
			Name: plugin.Name, Kind: "resource", Version: plugin.Version, Server: plugin.Server,
		})
	}
	return response, nil
}

// GetRequiredPlugins is the same for engines that do not ask for packages.
func (host *host) GetRequiredPlugins(
	_ context.Context, request *pulumirpc.GetRequiredPluginsRequest,
) (*pulumirpc.GetRequiredPluginsResponse, error) {
	plugins, err := pluginsOf(request.GetInfo())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetRequiredPluginsResponse{}
	for _, plugin := range plugins {
		response.Plugins = append(response.Plugins, &pulumirpc.PluginDependency{
			Name: plugin.Name, Kind: "resource", Version: plugin.Version, Server: plugin.Server,
		})
	}
	return response, nil
}

// About tells the interpreter and its version.
func (host *host) About(ctx context.Context, request *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	python, err := interpreterOf(request.GetInfo())
	if err != nil {
		return nil, err
	}
	command, done := host.command(ctx, python, "--version")
	defer done()
	answer, err := command.Output()
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(answer)), "Python ")
	return &pulumirpc.AboutResponse{Executable: python.path, Version: version}, nil
}

// Handshake has nothing to agree on.
func (host *host) Handshake(
	context.Context, *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo tells no version: this host is built together with the engine.
func (host *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{}, nil
}

// Cancel stops what runs; the engine will ask for nothing more.
func (host *host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	host.stop()
	return &emptypb.Empty{}, nil
}

type writerFunc func([]byte) error

func (write writerFunc) Write(text []byte) (int, error) {
	return len(text), write(text)
}

var _ io.Writer = writerFunc(nil)
