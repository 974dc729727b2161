// Command modelserver is a small MCP server, made with the official Go SDK, that
// speaks both protocol models: the one that opens with initialize, and the
// stateless one of 2026-07-28.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const noteURI = "model://note"

func main() {
	allow := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	forget := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	server := mcp.NewServer(&mcp.Implementation{Name: "modelserver", Version: "1"},
		&mcp.ServerOptions{SubscribeHandler: allow, UnsubscribeHandler: forget})

	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets by a name that it asks for."}, greet)
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Fails."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("failed as asked")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "grow", Description: "Adds a tool."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(server, &mcp.Tool{Name: "grown", Description: "Was added."}, greet)
			return text("grown"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "touch", Description: "Says that the note has changed."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return text("touched"), nil, server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI})
		})
	server.AddResource(&mcp.Resource{URI: noteURI, Name: "note"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: noteURI, Text: "a note"}}}, nil
		})

	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

// greet needs an answer of a person before it can answer itself.
func greet(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	answer, ok := req.Params.InputResponses["who"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
				Message: "Who is there?",
				RequestedSchema: map[string]any{
					"type":       "object",
					"properties": map[string]any{"name": map[string]any{"type": "string"}},
				},
			}},
			RequestState: "asked for the name",
		}, nil, nil
	}
	if req.Params.RequestState != "asked for the name" {
		return nil, nil, fmt.Errorf("the request state came back as %q", req.Params.RequestState)
	}
	return text(fmt.Sprintf("Hello, %v.", answer.Content["name"])), nil, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
