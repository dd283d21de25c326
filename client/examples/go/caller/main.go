// A caller in Go: calls one tool and reads the reason of a refusal.
//
//	go run ./caller unix:/run/toolrack/agent.sock echo '{"text": "hello"}'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	pb "toolrack.dev/go/toolrack/v1"
)

func explain(err error) {
	refusal := status.Convert(err)
	fmt.Fprintf(os.Stderr, "%s: %s\n", refusal.Code(), refusal.Message())
	for _, detail := range refusal.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			fmt.Fprintln(os.Stderr, "reason", d.Reason)
		case *errdetails.BadRequest:
			for _, fault := range d.FieldViolations {
				fmt.Fprintf(os.Stderr, "at %s: %s\n", fault.Field, fault.Description)
			}
		}
	}
}

func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	response, err := pb.NewToolServiceClient(connection).CallTool(ctx, &pb.CallToolRequest{
		Name: os.Args[2], Input: &pb.CallToolRequest_ArgumentsJson{ArgumentsJson: os.Args[3]}})
	if err != nil {
		explain(err)
		os.Exit(2)
	}
	for _, part := range response.Result.Content {
		if text := part.GetText(); text != nil {
			fmt.Println(text.Text)
		} else if value := part.GetJson(); value != nil {
			fmt.Println(value.Json)
		}
	}
	if response.Result.IsError {
		os.Exit(1)
	}
}
