// A worker in Go: one tool on one stream, attached again whenever the stream ends.
//
//	go run ./worker unix:/run/toolrack/worker.sock
package main

import (
	"context"
	"encoding/json"
	"log"
	"math/big"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "toolrack.dev/go/toolrack/v1"
)

const schema = `{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, ` +
	`"required": ["a", "b"], "additionalProperties": false}`

func multiply(arguments []byte) ([]byte, error) {
	var in struct{ A, B json.Number }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	a, _ := new(big.Int).SetString(in.A.String(), 10)
	b, _ := new(big.Int).SetString(in.B.String(), 10)
	return json.Marshal(map[string]*big.Int{"product": a.Mul(a, b)})
}

func answer(call *pb.Invocation) *pb.WorkerResult {
	text, err := multiply(call.ArgumentsJson)
	if err != nil {
		return &pb.WorkerResult{InvocationId: call.InvocationId, Outcome: &pb.WorkerResult_Failure{
			Failure: &pb.WorkerFailure{Code: pb.WorkerFailureCode_WORKER_FAILURE_CODE_EXECUTION_FAILED,
				Message: []byte(err.Error())}}}
	}
	content := &pb.WorkerContent{Content: &pb.WorkerContent_Json{Json: &pb.WorkerJsonContent{Json: text}}}
	return &pb.WorkerResult{InvocationId: call.InvocationId, Outcome: &pb.WorkerResult_Result{
		Result: &pb.WorkerToolResult{Content: []*pb.WorkerContent{content}, StructuredJson: text}}}
}

func serve(address string) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := pb.NewWorkerServiceClient(connection).Attach(context.Background())
	if err != nil {
		return err
	}
	// A stream takes one sender at a time: everything that is sent goes through here.
	out := make(chan *pb.WorkerServiceAttachRequest, 64)
	go func() {
		for message := range out {
			if stream.Send(message) != nil {
				break
			}
		}
		for range out { // the stream is gone: let the senders finish
		}
	}()
	out <- &pb.WorkerServiceAttachRequest{Message: &pb.WorkerServiceAttachRequest_Hello{
		Hello: &pb.WorkerHello{WorkerName: "go-example", ProtocolVersion: 1}}}
	out <- &pb.WorkerServiceAttachRequest{Message: &pb.WorkerServiceAttachRequest_Publish{
		Publish: &pb.WorkerPublish{Namespace: "go", Generation: 1, Commit: true,
			Mode: pb.PublishMode_PUBLISH_MODE_ATOMIC,
			Tools: []*pb.Tool{{Name: "multiply", Description: "Multiplies two integers, however large.",
				InputSchema: schema}}}}}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		switch m := message.Message.(type) {
		case *pb.WorkerServiceAttachResponse_Published:
			log.Println("published", m.Published.Accepted)
		case *pb.WorkerServiceAttachResponse_Invocations:
			for _, call := range m.Invocations.Invocations {
				go func() {
					out <- &pb.WorkerServiceAttachRequest{Message: &pb.WorkerServiceAttachRequest_Results{
						Results: &pb.WorkerResults{Results: []*pb.WorkerResult{answer(call)}}}}
				}()
			}
		case *pb.WorkerServiceAttachResponse_Ping:
			out <- &pb.WorkerServiceAttachRequest{Message: &pb.WorkerServiceAttachRequest_Pong{
				Pong: &pb.WorkerPong{Nonce: m.Ping.Nonce}}}
		}
	}
}

func main() {
	log.SetFlags(0)
	for {
		log.Println("attach again:", serve(os.Args[1]))
		time.Sleep(time.Second)
	}
}
