BEGIN TRANSACTION;
CREATE TABLE events (
	event INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	kind TEXT NOT NULL, 
	rater TEXT, 
	pair TEXT, 
	data TEXT NOT NULL, 
	PRIMARY KEY (event)
);
INSERT INTO "events" VALUES(1,0.0,'study',NULL,NULL,'{"pairs": 13, "digest": "0daa845d42066ce9a6a716e6daf14739973d7389c306430857e7fa3809be4aee|show"}');
INSERT INTO "events" VALUES(2,1000000.0,'arrived','53849b19657a4369ec6f',NULL,'{"sitting": 1, "source": "local"}');
INSERT INTO "events" VALUES(3,1000000.0,'consented','53849b19657a4369ec6f',NULL,'{"version": "1"}');
INSERT INTO "events" VALUES(4,1000000.0,'shown','53849b19657a4369ec6f','c1','{"left": "b", "sitting": 1, "slot": 0}');
INSERT INTO "events" VALUES(5,1000000.0,'answered','53849b19657a4369ec6f','c1','{"lease": 1, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(6,1000000.0,'shown','53849b19657a4369ec6f','c3','{"left": "a", "sitting": 1, "slot": 1}');
INSERT INTO "events" VALUES(7,1000000.0,'answered','53849b19657a4369ec6f','c3','{"lease": 2, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(8,1000000.0,'shown','53849b19657a4369ec6f','c2','{"left": "a", "sitting": 1, "slot": 2}');
INSERT INTO "events" VALUES(9,1000000.0,'answered','53849b19657a4369ec6f','c2','{"lease": 3, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(10,1000000.0,'shown','53849b19657a4369ec6f','p2','{"left": "b", "sitting": 1, "slot": 3}');
INSERT INTO "events" VALUES(11,1000000.0,'answered','53849b19657a4369ec6f','p2','{"lease": 4, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(12,1000000.0,'shown','53849b19657a4369ec6f','p1','{"left": "b", "sitting": 1, "slot": 4}');
INSERT INTO "events" VALUES(13,1000000.0,'answered','53849b19657a4369ec6f','p1','{"lease": 5, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(14,1000000.0,'shown','53849b19657a4369ec6f','c4','{"left": "a", "sitting": 1, "slot": 5}');
INSERT INTO "events" VALUES(15,1000000.0,'answered','53849b19657a4369ec6f','c4','{"lease": 6, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(16,1000000.0,'shown','53849b19657a4369ec6f','p6','{"left": "b", "sitting": 1, "slot": 6}');
INSERT INTO "events" VALUES(17,1000000.0,'answered','53849b19657a4369ec6f','p6','{"lease": 7, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(18,1000000.0,'shown','53849b19657a4369ec6f','c0','{"left": "a", "sitting": 1, "slot": 7}');
INSERT INTO "events" VALUES(19,1000000.0,'answered','53849b19657a4369ec6f','c0','{"lease": 8, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(20,1000000.0,'shown','53849b19657a4369ec6f','p0','{"left": "a", "sitting": 1, "slot": 8}');
INSERT INTO "events" VALUES(21,1000000.0,'answered','53849b19657a4369ec6f','p0','{"lease": 9, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(22,1000000.0,'finished','53849b19657a4369ec6f',NULL,'{"sitting": 1, "done": 9}');
INSERT INTO "events" VALUES(23,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 1, "source": "local"}');
INSERT INTO "events" VALUES(24,1000100.0,'consented','3773b269dd3b045fa517',NULL,'{"version": "1"}');
INSERT INTO "events" VALUES(25,1000100.0,'shown','3773b269dd3b045fa517','c0','{"left": "b", "sitting": 1, "slot": 0}');
INSERT INTO "events" VALUES(26,1000100.0,'expired','3773b269dd3b045fa517','c0','{}');
INSERT INTO "events" VALUES(27,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 2, "source": "local"}');
INSERT INTO "events" VALUES(28,1000100.0,'shown','3773b269dd3b045fa517','c4','{"left": "b", "sitting": 2, "slot": 0}');
INSERT INTO "events" VALUES(29,1000100.0,'expired','3773b269dd3b045fa517','c4','{}');
INSERT INTO "events" VALUES(30,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 3, "source": "local"}');
INSERT INTO "events" VALUES(31,1000100.0,'shown','3773b269dd3b045fa517','c2','{"left": "b", "sitting": 3, "slot": 0}');
INSERT INTO "events" VALUES(32,1000100.0,'expired','3773b269dd3b045fa517','c2','{}');
INSERT INTO "events" VALUES(33,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 4, "source": "local"}');
INSERT INTO "events" VALUES(34,1000100.0,'shown','3773b269dd3b045fa517','c1','{"left": "a", "sitting": 4, "slot": 0}');
INSERT INTO "events" VALUES(35,1000100.0,'expired','3773b269dd3b045fa517','c1','{}');
INSERT INTO "events" VALUES(36,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 5, "source": "local"}');
INSERT INTO "events" VALUES(37,1000100.0,'shown','3773b269dd3b045fa517','c3','{"left": "b", "sitting": 5, "slot": 0}');
INSERT INTO "events" VALUES(38,1000100.0,'expired','3773b269dd3b045fa517','c3','{}');
INSERT INTO "events" VALUES(39,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 6, "source": "local"}');
INSERT INTO "events" VALUES(40,1000100.0,'shown','3773b269dd3b045fa517','p5','{"left": "b", "sitting": 6, "slot": 3}');
INSERT INTO "events" VALUES(41,1000100.0,'answered','3773b269dd3b045fa517','p5','{"lease": 15, "choice": "tie", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(42,1000100.0,'shown','3773b269dd3b045fa517','p7','{"left": "a", "sitting": 6, "slot": 5}');
INSERT INTO "events" VALUES(43,1000100.0,'answered','3773b269dd3b045fa517','p7','{"lease": 16, "choice": "tie", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(44,1000100.0,'shown','3773b269dd3b045fa517','p4','{"left": "a", "sitting": 6, "slot": 7}');
INSERT INTO "events" VALUES(45,1000100.0,'answered','3773b269dd3b045fa517','p4','{"lease": 17, "choice": "tie", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(46,1000100.0,'shown','3773b269dd3b045fa517','p3','{"left": "b", "sitting": 6, "slot": 8}');
INSERT INTO "events" VALUES(47,1000100.0,'answered','3773b269dd3b045fa517','p3','{"lease": 18, "choice": "tie", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(48,1000100.0,'finished','3773b269dd3b045fa517',NULL,'{"sitting": 6, "done": 4}');
INSERT INTO "events" VALUES(49,1000100.0,'arrived','3773b269dd3b045fa517',NULL,'{"sitting": 7, "source": "local"}');
INSERT INTO "events" VALUES(50,1000100.0,'shown','3773b269dd3b045fa517','p2','{"left": "a", "sitting": 7, "slot": 3}');
INSERT INTO "events" VALUES(51,1000100.0,'answered','3773b269dd3b045fa517','p2','{"lease": 19, "choice": "tie", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(52,1000100.0,'shown','3773b269dd3b045fa517','p1','{"left": "a", "sitting": 7, "slot": 4}');
INSERT INTO "events" VALUES(53,1000100.0,'answered','3773b269dd3b045fa517','p1','{"lease": 20, "choice": "tie", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(54,1000100.0,'shown','3773b269dd3b045fa517','p6','{"left": "a", "sitting": 7, "slot": 6}');
INSERT INTO "events" VALUES(55,1000100.0,'answered','3773b269dd3b045fa517','p6','{"lease": 21, "choice": "tie", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(56,1000100.0,'shown','3773b269dd3b045fa517','p0','{"left": "b", "sitting": 7, "slot": 7}');
INSERT INTO "events" VALUES(57,1000100.0,'answered','3773b269dd3b045fa517','p0','{"lease": 22, "choice": "tie", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(58,1000100.0,'finished','3773b269dd3b045fa517',NULL,'{"sitting": 7, "done": 4}');
INSERT INTO "events" VALUES(59,1000200.0,'arrived','6127ae67e78eb84901ee',NULL,'{"sitting": 1, "source": "local"}');
INSERT INTO "events" VALUES(60,1000200.0,'consented','6127ae67e78eb84901ee',NULL,'{"version": "1"}');
INSERT INTO "events" VALUES(61,1000200.0,'shown','6127ae67e78eb84901ee','c0','{"left": "b", "sitting": 1, "slot": 0}');
INSERT INTO "events" VALUES(62,1000200.0,'answered','6127ae67e78eb84901ee','c0','{"lease": 23, "choice": "b", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 1}');
INSERT INTO "events" VALUES(63,1000200.0,'shown','6127ae67e78eb84901ee','c4','{"left": "b", "sitting": 1, "slot": 1}');
INSERT INTO "events" VALUES(64,1000200.0,'answered','6127ae67e78eb84901ee','c4','{"lease": 24, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(65,1000200.0,'shown','6127ae67e78eb84901ee','c2','{"left": "b", "sitting": 1, "slot": 2}');
INSERT INTO "events" VALUES(66,1000200.0,'answered','6127ae67e78eb84901ee','c2','{"lease": 25, "choice": "b", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 1}');
INSERT INTO "events" VALUES(67,1000200.0,'shown','6127ae67e78eb84901ee','p5','{"left": "a", "sitting": 1, "slot": 3}');
INSERT INTO "events" VALUES(68,1000200.0,'answered','6127ae67e78eb84901ee','p5','{"lease": 26, "choice": "b", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(69,1000200.0,'shown','6127ae67e78eb84901ee','p7','{"left": "b", "sitting": 1, "slot": 4}');
INSERT INTO "events" VALUES(70,1000200.0,'answered','6127ae67e78eb84901ee','p7','{"lease": 27, "choice": "b", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(71,1000200.0,'shown','6127ae67e78eb84901ee','p4','{"left": "b", "sitting": 1, "slot": 5}');
INSERT INTO "events" VALUES(72,1000200.0,'answered','6127ae67e78eb84901ee','p4','{"lease": 28, "choice": "b", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(73,1000200.0,'shown','6127ae67e78eb84901ee','c3','{"left": "b", "sitting": 1, "slot": 6}');
INSERT INTO "events" VALUES(74,1000200.0,'answered','6127ae67e78eb84901ee','c3','{"lease": 29, "choice": "b", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 1}');
INSERT INTO "events" VALUES(75,1000200.0,'blocked','6127ae67e78eb84901ee',NULL,'{}');
INSERT INTO "events" VALUES(76,1000200.0,'arrived','edb75a5200712dfbdb25',NULL,'{"sitting": 1, "source": "mturk"}');
INSERT INTO "events" VALUES(77,1000200.0,'consented','edb75a5200712dfbdb25',NULL,'{"version": "1"}');
INSERT INTO "events" VALUES(78,1000200.0,'shown','edb75a5200712dfbdb25','c0','{"left": "b", "sitting": 1, "slot": 0}');
INSERT INTO "events" VALUES(79,1000200.0,'answered','edb75a5200712dfbdb25','c0','{"lease": 30, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(80,1000200.0,'shown','edb75a5200712dfbdb25','c1','{"left": "a", "sitting": 1, "slot": 1}');
INSERT INTO "events" VALUES(81,1000200.0,'answered','edb75a5200712dfbdb25','c1','{"lease": 31, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(82,1000200.0,'shown','edb75a5200712dfbdb25','c3','{"left": "a", "sitting": 1, "slot": 2}');
INSERT INTO "events" VALUES(83,1000200.0,'answered','edb75a5200712dfbdb25','c3','{"lease": 32, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(84,1000200.0,'shown','edb75a5200712dfbdb25','p5','{"left": "b", "sitting": 1, "slot": 3}');
INSERT INTO "events" VALUES(85,1000200.0,'answered','edb75a5200712dfbdb25','p5','{"lease": 33, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(86,1000200.0,'shown','edb75a5200712dfbdb25','p7','{"left": "b", "sitting": 1, "slot": 4}');
INSERT INTO "events" VALUES(87,1000200.0,'answered','edb75a5200712dfbdb25','p7','{"lease": 34, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(88,1000200.0,'shown','edb75a5200712dfbdb25','c4','{"left": "a", "sitting": 1, "slot": 5}');
INSERT INTO "events" VALUES(89,1000200.0,'answered','edb75a5200712dfbdb25','c4','{"lease": 35, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(90,1000200.0,'shown','edb75a5200712dfbdb25','p4','{"left": "a", "sitting": 1, "slot": 6}');
INSERT INTO "events" VALUES(91,1000200.0,'answered','edb75a5200712dfbdb25','p4','{"lease": 36, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(92,1000200.0,'shown','edb75a5200712dfbdb25','c2','{"left": "b", "sitting": 1, "slot": 7}');
INSERT INTO "events" VALUES(93,1000200.0,'answered','edb75a5200712dfbdb25','c2','{"lease": 37, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(94,1000200.0,'shown','edb75a5200712dfbdb25','p3','{"left": "a", "sitting": 1, "slot": 8}');
INSERT INTO "events" VALUES(95,1000200.0,'answered','edb75a5200712dfbdb25','p3','{"lease": 38, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(96,1000200.0,'finished','edb75a5200712dfbdb25',NULL,'{"sitting": 1, "done": 9}');
INSERT INTO "events" VALUES(97,1000200.0,'study','edb75a5200712dfbdb25',NULL,'{"set_aside": 4, "sitting": 1}');
INSERT INTO "events" VALUES(98,1000200.0,'arrived','3e8a8196395fd06bdff5',NULL,'{"sitting": 1, "source": "local"}');
INSERT INTO "events" VALUES(99,1000200.0,'consented','3e8a8196395fd06bdff5',NULL,'{"version": "1"}');
INSERT INTO "events" VALUES(100,1000200.0,'shown','3e8a8196395fd06bdff5','c2','{"left": "a", "sitting": 1, "slot": 0}');
INSERT INTO "events" VALUES(101,1000200.0,'answered','3e8a8196395fd06bdff5','c2','{"lease": 39, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(102,1000200.0,'shown','3e8a8196395fd06bdff5','c3','{"left": "b", "sitting": 1, "slot": 1}');
INSERT INTO "events" VALUES(103,1000200.0,'answered','3e8a8196395fd06bdff5','c3','{"lease": 40, "choice": "a", "left": "b", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(104,1000200.0,'shown','3e8a8196395fd06bdff5','c1','{"left": "a", "sitting": 1, "slot": 2}');
INSERT INTO "events" VALUES(105,1000200.0,'answered','3e8a8196395fd06bdff5','c1','{"lease": 41, "choice": "a", "left": "a", "seconds": 1.0, "late": 0, "counted": 0, "failed": 0}');
INSERT INTO "events" VALUES(106,1000200.0,'shown','3e8a8196395fd06bdff5','p5','{"left": "a", "sitting": 1, "slot": 3}');
INSERT INTO "events" VALUES(107,1000200.0,'answered','3e8a8196395fd06bdff5','p5','{"lease": 42, "choice": "b", "left": "a", "seconds": 1.0, "late": 0, "counted": 1, "failed": null}');
INSERT INTO "events" VALUES(108,1000200.0,'shown','3e8a8196395fd06bdff5','c0','{"left": "a", "sitting": 1, "slot": 4}');
INSERT INTO "events" VALUES(109,1000200.0,'undone','3e8a8196395fd06bdff5','p5','{"lease": 42}');
INSERT INTO "events" VALUES(110,1000900.0,'answered','3e8a8196395fd06bdff5','c0','{"lease": 43, "choice": "tie", "left": "a", "seconds": 700.0, "late": 0, "counted": 0, "failed": 1}');
CREATE TABLE leases (
	lease INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	sitting INTEGER NOT NULL, 
	slot INTEGER NOT NULL, 
	pair TEXT NOT NULL, 
	"left" TEXT NOT NULL, 
	state TEXT NOT NULL, 
	issued FLOAT NOT NULL, 
	expires FLOAT NOT NULL, 
	PRIMARY KEY (lease), 
	UNIQUE (rater, pair), 
	UNIQUE (token)
);
INSERT INTO "leases" VALUES(1,'74bbe3cf100a63a80abc1b4128f6d45d',0,'53849b19657a4369ec6f',1,0,'c1','b','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(2,'98160bce73702b4c466d80a85707d867',0,'53849b19657a4369ec6f',1,1,'c3','a','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(3,'0cb9626c3881ebe133044b4b3c3f03e9',0,'53849b19657a4369ec6f',1,2,'c2','a','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(4,'4f5e04a43fa33cd9460e6ff0d03cb15d',0,'53849b19657a4369ec6f',1,3,'p2','b','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(5,'18f920102c194754ed023a5ab97d62d7',0,'53849b19657a4369ec6f',1,4,'p1','b','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(6,'711da7cce95c6d8139ced1ac1514030d',0,'53849b19657a4369ec6f',1,5,'c4','a','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(7,'563b4483076d58005be101e8b5c9493f',0,'53849b19657a4369ec6f',1,6,'p6','b','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(8,'38367ae744d202c3fb678e02f3472778',0,'53849b19657a4369ec6f',1,7,'c0','a','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(9,'0319e29f526463c47ae55d46c4a53c6e',0,'53849b19657a4369ec6f',1,8,'p0','a','answered',1000000.0,1000600.0);
INSERT INTO "leases" VALUES(10,'68132346e11ad4073d402a9c66c3061a',0,'3773b269dd3b045fa517',1,0,'c0','b','expired',1000100.0,1000100.0);
INSERT INTO "leases" VALUES(11,'edb3341c697adf2b54c37b50f8a7ac49',0,'3773b269dd3b045fa517',2,0,'c4','b','expired',1000100.0,1000100.0);
INSERT INTO "leases" VALUES(12,'82f1077fc2db946e8b697949a74f4f7c',0,'3773b269dd3b045fa517',3,0,'c2','b','expired',1000100.0,1000100.0);
INSERT INTO "leases" VALUES(13,'ecdceb2cfa421ac4652b09d4c283263a',0,'3773b269dd3b045fa517',4,0,'c1','a','expired',1000100.0,1000100.0);
INSERT INTO "leases" VALUES(14,'60c9e42e42076a26f38a42b5582fc750',0,'3773b269dd3b045fa517',5,0,'c3','b','expired',1000100.0,1000100.0);
INSERT INTO "leases" VALUES(15,'1700763d0787dd72f38196f01edf5676',0,'3773b269dd3b045fa517',6,3,'p5','b','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(16,'b03048801dbc0e5bd39e67e25fe01cff',0,'3773b269dd3b045fa517',6,5,'p7','a','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(17,'7723a719a4272375c9e9070cabc33f83',0,'3773b269dd3b045fa517',6,7,'p4','a','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(18,'4bd7c21823d678373d6b9c5bc5a16986',0,'3773b269dd3b045fa517',6,8,'p3','b','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(19,'9a9e57d5a12d999b3ca51ddbf7bf6cea',0,'3773b269dd3b045fa517',7,3,'p2','a','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(20,'896aed76d0cff3cc01dcdf3b793c8a6b',0,'3773b269dd3b045fa517',7,4,'p1','a','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(21,'0f364df17ff7404736ad35c3b6ef74b4',0,'3773b269dd3b045fa517',7,6,'p6','a','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(22,'19da920b4d99304a164fd0caf4345843',0,'3773b269dd3b045fa517',7,7,'p0','b','answered',1000100.0,1000700.0);
INSERT INTO "leases" VALUES(23,'f5ce8ac41c58717aa811b8b7bfa1fdc1',0,'6127ae67e78eb84901ee',1,0,'c0','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(24,'f3cda502b687901c05db60cac7959442',0,'6127ae67e78eb84901ee',1,1,'c4','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(25,'319668f96b8ba1dec1fbaa8fb4ce2abb',0,'6127ae67e78eb84901ee',1,2,'c2','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(26,'16dedd08bb3455730e55ffc321229443',0,'6127ae67e78eb84901ee',1,3,'p5','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(27,'dfd4241807049a8257729f260d236c02',0,'6127ae67e78eb84901ee',1,4,'p7','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(28,'8caebd6d76ad282b553bbdee64bcd9b9',0,'6127ae67e78eb84901ee',1,5,'p4','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(29,'2c6c45404a224b958e67289219d12306',0,'6127ae67e78eb84901ee',1,6,'c3','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(30,'0d18a2a355439431a6ac1e753fd24e67',0,'edb75a5200712dfbdb25',1,0,'c0','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(31,'fde2f08d9affe88fe1361d5ce4c3b091',0,'edb75a5200712dfbdb25',1,1,'c1','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(32,'05784babca26ab1b7affb964777ef83e',0,'edb75a5200712dfbdb25',1,2,'c3','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(33,'83bb9abdf49118d39585ea55f98d9784',0,'edb75a5200712dfbdb25',1,3,'p5','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(34,'c6fb4c5434f6047818459962965763e2',0,'edb75a5200712dfbdb25',1,4,'p7','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(35,'7552be463e38f2c110efcffdf649ad93',0,'edb75a5200712dfbdb25',1,5,'c4','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(36,'cbb41aa6dc8c062f9c6f8a3abbb2d0ed',0,'edb75a5200712dfbdb25',1,6,'p4','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(37,'0aac6a1c620380ec1cde31d64a5bf5b7',0,'edb75a5200712dfbdb25',1,7,'c2','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(38,'ff059be011fb00ef33f9a855bfc990b3',0,'edb75a5200712dfbdb25',1,8,'p3','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(39,'3c122c1ba945cf47812d7012ef35f70c',0,'3e8a8196395fd06bdff5',1,0,'c2','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(40,'1172ecdb9ef80c77ddcbee1ca0794c26',0,'3e8a8196395fd06bdff5',1,1,'c3','b','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(41,'1db9771b065d2d53eb56282517a88de5',0,'3e8a8196395fd06bdff5',1,2,'c1','a','answered',1000200.0,1000800.0);
INSERT INTO "leases" VALUES(42,'3187949edf5a41bfe5fca1b5ab2e3f30',1,'3e8a8196395fd06bdff5',1,3,'p5','a','held',1000200.0,1001500.0);
INSERT INTO "leases" VALUES(43,'26f42b356505c327d8d0f60018218d15',0,'3e8a8196395fd06bdff5',1,4,'c0','a','answered',1000200.0,1000800.0);
CREATE TABLE pairs (
	pair TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	open INTEGER NOT NULL, 
	votes INTEGER NOT NULL, 
	live INTEGER NOT NULL, 
	offered INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (pair)
);
INSERT INTO "pairs" VALUES('p0',2535117528564363592,'real',1,2,2,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p0 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p0 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p0", "kind": "real", "pair": "p0"}');
INSERT INTO "pairs" VALUES('p1',1237595386800764712,'real',1,2,2,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p1 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p1 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p1", "kind": "real", "pair": "p1"}');
INSERT INTO "pairs" VALUES('p2',1133881934526085451,'real',1,2,2,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p2 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p2 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p2", "kind": "real", "pair": "p2"}');
INSERT INTO "pairs" VALUES('p3',7960198289862021326,'real',1,1,1,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p3 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p3 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p3", "kind": "real", "pair": "p3"}');
INSERT INTO "pairs" VALUES('p4',6625776250489340792,'real',1,1,1,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p4 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p4 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p4", "kind": "real", "pair": "p4"}');
INSERT INTO "pairs" VALUES('p5',5394252801851429889,'real',1,1,2,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p5 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p5 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p5", "kind": "real", "pair": "p5"}');
INSERT INTO "pairs" VALUES('p6',2391913211089112266,'real',1,2,2,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p6 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p6 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p6", "kind": "real", "pair": "p6"}');
INSERT INTO "pairs" VALUES('p7',6028908423402809948,'real',1,1,1,1,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "p7 text a"}, "answer": null, "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "p7 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:p7", "kind": "real", "pair": "p7"}');
INSERT INTO "pairs" VALUES('c0',3984892225582622208,'check',0,0,0,0,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "c0 text a"}, "answer": "a", "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "c0 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:c0", "kind": "check", "pair": "c0"}');
INSERT INTO "pairs" VALUES('c1',538906706507026118,'check',0,0,0,0,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "c1 text a"}, "answer": "a", "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "c1 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:c1", "kind": "check", "pair": "c1"}');
INSERT INTO "pairs" VALUES('c2',3302432886983396919,'check',0,0,0,0,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "c2 text a"}, "answer": "a", "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "c2 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:c2", "kind": "check", "pair": "c2"}');
INSERT INTO "pairs" VALUES('c3',7760447650754071570,'check',0,0,0,0,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "c3 text a"}, "answer": "a", "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "c3 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:c3", "kind": "check", "pair": "c3"}');
INSERT INTO "pairs" VALUES('c4',4989918764958190146,'check',0,0,0,0,'{"a": {"checkpoint": "unknown", "model": "m", "seed": 0, "text": "c4 text a"}, "answer": "a", "b": {"checkpoint": "unknown", "model": "m", "seed": 1, "text": "c4 text b"}, "context": [{"speaker": "user", "text": "Hello."}, {"speaker": "system", "text": "How may I help?"}], "contrast": "", "dialogue": "d", "identical": false, "item": "d:c4", "kind": "check", "pair": "c4"}');
CREATE TABLE payments (
	rater TEXT NOT NULL, 
	sitting INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	listed FLOAT, 
	PRIMARY KEY (rater, sitting)
);
INSERT INTO "payments" VALUES('53849b19657a4369ec6f',1,'local','careful','1',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',1,'local','walker','s0',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',2,'local','walker','s1',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',3,'local','walker','s2',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',4,'local','walker','s3',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',5,'local','walker','s4',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',6,'local','walker','t0',NULL);
INSERT INTO "payments" VALUES('3773b269dd3b045fa517',7,'local','walker','t1',NULL);
INSERT INTO "payments" VALUES('6127ae67e78eb84901ee',1,'local','clicker','1',NULL);
INSERT INTO "payments" VALUES('edb75a5200712dfbdb25',1,'mturk','unlisted','a1',NULL);
INSERT INTO "payments" VALUES('3e8a8196395fd06bdff5',1,'local','late','1',NULL);
CREATE TABLE raters (
	rater TEXT NOT NULL, 
	source TEXT NOT NULL, 
	status TEXT NOT NULL, 
	arrived FLOAT NOT NULL, 
	consent TEXT, 
	consented FLOAT, 
	instructed INTEGER NOT NULL, 
	last_vote INTEGER, 
	PRIMARY KEY (rater)
);
INSERT INTO "raters" VALUES('53849b19657a4369ec6f','local','passed',1000000.0,'1',1000000.0,0,9);
INSERT INTO "raters" VALUES('3773b269dd3b045fa517','local','incomplete',1000100.0,'1',1000100.0,0,17);
INSERT INTO "raters" VALUES('6127ae67e78eb84901ee','local','blocked',1000200.0,'1',1000200.0,0,24);
INSERT INTO "raters" VALUES('edb75a5200712dfbdb25','mturk','passed',1000200.0,'1',1000200.0,0,33);
INSERT INTO "raters" VALUES('3e8a8196395fd06bdff5','local','passed',1000200.0,'1',1000200.0,0,37);
CREATE TABLE sittings (
	rater TEXT NOT NULL, 
	sitting INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	source TEXT NOT NULL, 
	slots TEXT NOT NULL, 
	begun FLOAT NOT NULL, 
	finished FLOAT, 
	PRIMARY KEY (rater, sitting), 
	UNIQUE (rater, "key")
);
INSERT INTO "sittings" VALUES('53849b19657a4369ec6f',1,'18fda4f6a47710b72634','local','cccrrcrcr',1000000.0,1000000.0);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',1,'704f884778a2de931de1','local','cccrrrcrc',1000100.0,NULL);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',2,'94d141142ee27c53045b','local','cccrrrcrc',1000100.0,NULL);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',3,'a505fe734e33819f0c19','local','cccrrcrcr',1000100.0,NULL);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',4,'f35b44badb66fbde815d','local','cccrcrcrr',1000100.0,NULL);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',5,'2ead68eeb64bc3af6d60','local','cccrcrrcr',1000100.0,NULL);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',6,'511aaa87a8d19e815f4c','local','cccrcrcrr',1000100.0,1000100.0);
INSERT INTO "sittings" VALUES('3773b269dd3b045fa517',7,'aded69c4cad723e161f5','local','cccrrcrrc',1000100.0,1000100.0);
INSERT INTO "sittings" VALUES('6127ae67e78eb84901ee',1,'18fda4f6a47710b72634','local','cccrrrcrc',1000200.0,NULL);
INSERT INTO "sittings" VALUES('edb75a5200712dfbdb25',1,'0f826089da7d6a10e362','mturk','cccrrcrcr',1000200.0,1000200.0);
INSERT INTO "sittings" VALUES('3e8a8196395fd06bdff5',1,'18fda4f6a47710b72634','local','cccrcrrcr',1000200.0,NULL);
CREATE TABLE study (
	"key" TEXT NOT NULL, 
	value TEXT, 
	PRIMARY KEY ("key")
);
INSERT INTO "study" VALUES('schema','1');
INSERT INTO "study" VALUES('seed','0');
INSERT INTO "study" VALUES('rater_key','6673c138d08f97c3');
INSERT INTO "study" VALUES('secret','33e768794b7cc618f2a034a3d57c1cc13a5b26bb1e7359318fa86d463fafd518');
INSERT INTO "study" VALUES('state','running');
INSERT INTO "study" VALUES('pairs','0daa845d42066ce9a6a716e6daf14739973d7389c306430857e7fa3809be4aee|show');
CREATE TABLE votes (
	vote INTEGER NOT NULL, 
	lease INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	pair TEXT NOT NULL, 
	source TEXT NOT NULL, 
	choice TEXT NOT NULL, 
	"left" TEXT NOT NULL, 
	seconds FLOAT, 
	submitted FLOAT NOT NULL, 
	late INTEGER NOT NULL, 
	counted INTEGER NOT NULL, 
	failed INTEGER, 
	PRIMARY KEY (vote), 
	UNIQUE (rater, pair), 
	UNIQUE (lease)
);
INSERT INTO "votes" VALUES(1,1,'53849b19657a4369ec6f','c1','local','a','b',1.0,1000000.0,0,0,0);
INSERT INTO "votes" VALUES(2,2,'53849b19657a4369ec6f','c3','local','a','a',1.0,1000000.0,0,0,0);
INSERT INTO "votes" VALUES(3,3,'53849b19657a4369ec6f','c2','local','a','a',1.0,1000000.0,0,0,0);
INSERT INTO "votes" VALUES(4,4,'53849b19657a4369ec6f','p2','local','a','b',1.0,1000000.0,0,1,NULL);
INSERT INTO "votes" VALUES(5,5,'53849b19657a4369ec6f','p1','local','a','b',1.0,1000000.0,0,1,NULL);
INSERT INTO "votes" VALUES(6,6,'53849b19657a4369ec6f','c4','local','a','a',1.0,1000000.0,0,0,0);
INSERT INTO "votes" VALUES(7,7,'53849b19657a4369ec6f','p6','local','a','b',1.0,1000000.0,0,1,NULL);
INSERT INTO "votes" VALUES(8,8,'53849b19657a4369ec6f','c0','local','a','a',1.0,1000000.0,0,0,0);
INSERT INTO "votes" VALUES(9,9,'53849b19657a4369ec6f','p0','local','a','a',1.0,1000000.0,0,1,NULL);
INSERT INTO "votes" VALUES(10,15,'3773b269dd3b045fa517','p5','local','tie','b',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(11,16,'3773b269dd3b045fa517','p7','local','tie','a',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(12,17,'3773b269dd3b045fa517','p4','local','tie','a',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(13,18,'3773b269dd3b045fa517','p3','local','tie','b',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(14,19,'3773b269dd3b045fa517','p2','local','tie','a',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(15,20,'3773b269dd3b045fa517','p1','local','tie','a',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(16,21,'3773b269dd3b045fa517','p6','local','tie','a',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(17,22,'3773b269dd3b045fa517','p0','local','tie','b',1.0,1000100.0,0,1,NULL);
INSERT INTO "votes" VALUES(18,23,'6127ae67e78eb84901ee','c0','local','b','b',1.0,1000200.0,0,0,1);
INSERT INTO "votes" VALUES(19,24,'6127ae67e78eb84901ee','c4','local','a','b',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(20,25,'6127ae67e78eb84901ee','c2','local','b','b',1.0,1000200.0,0,0,1);
INSERT INTO "votes" VALUES(21,26,'6127ae67e78eb84901ee','p5','local','b','a',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(22,27,'6127ae67e78eb84901ee','p7','local','b','b',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(23,28,'6127ae67e78eb84901ee','p4','local','b','b',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(24,29,'6127ae67e78eb84901ee','c3','local','b','b',1.0,1000200.0,0,0,1);
INSERT INTO "votes" VALUES(25,30,'edb75a5200712dfbdb25','c0','mturk','a','b',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(26,31,'edb75a5200712dfbdb25','c1','mturk','a','a',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(27,32,'edb75a5200712dfbdb25','c3','mturk','a','a',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(28,33,'edb75a5200712dfbdb25','p5','mturk','a','b',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(29,34,'edb75a5200712dfbdb25','p7','mturk','a','b',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(30,35,'edb75a5200712dfbdb25','c4','mturk','a','a',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(31,36,'edb75a5200712dfbdb25','p4','mturk','a','a',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(32,37,'edb75a5200712dfbdb25','c2','mturk','a','b',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(33,38,'edb75a5200712dfbdb25','p3','mturk','a','a',1.0,1000200.0,0,0,NULL);
INSERT INTO "votes" VALUES(34,39,'3e8a8196395fd06bdff5','c2','local','a','a',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(35,40,'3e8a8196395fd06bdff5','c3','local','a','b',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(36,41,'3e8a8196395fd06bdff5','c1','local','a','a',1.0,1000200.0,0,0,0);
INSERT INTO "votes" VALUES(37,43,'3e8a8196395fd06bdff5','c0','local','tie','a',700.0,1000900.0,0,0,1);
CREATE INDEX pairs_next ON pairs (open, live, position);
CREATE INDEX leases_pair ON leases (pair);
CREATE INDEX leases_due ON leases (state, expires);
CREATE INDEX votes_pair ON votes (pair);
CREATE INDEX events_rater ON events (rater);
COMMIT;
