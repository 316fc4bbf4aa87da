"""What is done beside the sale, by workers of RQ: nothing that sells waits for it. `catalogue` lists it."""
