module lossy-network

go 1.26.7
